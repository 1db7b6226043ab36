//! What a decoder has to compute and to read, from the numbers in its `config.json`.
//!
//! Every matrix multiplication of a token takes two operations for each weight; attention takes
//! four for each head, each dimension of it and each token it looks back on (scores and
//! values), in a prefill half of the square, because of the causal mask. Norms, activations,
//! rotary embeddings and softmax are left out, as is customary.

use serde::Serialize;
use serde_json::Value;

/// A dense or mixture-of-experts decoder.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Decoder {
    pub layers: u64,
    pub hidden: u64,
    pub heads: u64,
    pub kv_heads: u64,
    pub head_dim: u64,
    pub intermediate: u64,
    pub vocabulary: u64,
    pub tied_embeddings: bool,
    /// Gate, up and down; two without a gate.
    pub mlp_matrices: u64,
    pub experts: Option<Experts>,
    /// Multi-head latent attention, as in DeepSeek.
    pub latent: Option<Latent>,
    /// Bytes of a weight, as the configuration names its type.
    pub weight_bytes: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Experts {
    pub total: u64,
    pub active: u64,
    pub intermediate: u64,
    /// Of all shared experts together.
    pub shared_intermediate: u64,
    /// The first layers, which have none.
    pub dense_layers: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Latent {
    pub query_rank: Option<u64>,
    pub kv_rank: u64,
    pub nope_dim: u64,
    pub rope_dim: u64,
    pub value_dim: u64,
}

impl Decoder {
    /// From a Hugging Face `config.json`, or why that is not possible.
    pub fn of_config(config: &Value) -> Result<Self, String> {
        // A vision-language model has its decoder inside.
        let config = config.get("text_config").filter(|text| text.is_object()).unwrap_or(config);
        let known = |names: &[&str]| names.iter().find_map(|name| config.get(name)?.as_u64());
        let needed = |names: &[&str]| {
            known(names).filter(|value| *value > 0).ok_or_else(|| format!("it has no `{}`", names[0]))
        };
        let hidden = needed(&["hidden_size", "n_embd", "d_model"])?;
        let heads = needed(&["num_attention_heads", "n_head"])?;
        let intermediate = known(&["intermediate_size", "n_inner", "ffn_dim"]).unwrap_or(4 * hidden);
        let gated = known(&["n_embd"]).is_none() && config.get("ffn_dim").is_none();
        Ok(Self {
            layers: needed(&["num_hidden_layers", "n_layer"])?,
            hidden,
            heads,
            kv_heads: known(&["num_key_value_heads"]).unwrap_or(heads),
            head_dim: known(&["head_dim"]).unwrap_or(hidden / heads),
            intermediate,
            vocabulary: needed(&["vocab_size"])?,
            tied_embeddings: config.get("tie_word_embeddings").and_then(Value::as_bool).unwrap_or(!gated),
            mlp_matrices: if gated { 3 } else { 2 },
            experts: experts(&known, intermediate),
            latent: latent(&known),
            weight_bytes: weight_bytes(config),
        })
    }

    fn attention_weights(&self) -> u64 {
        match &self.latent {
            None => self.hidden * self.head_dim * (2 * self.heads + 2 * self.kv_heads),
            Some(latent) => {
                let query = self.heads * (latent.nope_dim + latent.rope_dim);
                let queries = match latent.query_rank {
                    Some(rank) => self.hidden * rank + rank * query,
                    None => self.hidden * query,
                };
                queries
                    + self.hidden * (latent.kv_rank + latent.rope_dim)
                    + latent.kv_rank * self.heads * (latent.nope_dim + latent.value_dim)
                    + self.heads * latent.value_dim * self.hidden
            }
        }
    }

    /// Weights of all layers that `experts_used` experts of each layer take part in.
    fn layer_weights(&self, experts_used: u64) -> u64 {
        let dense = self.mlp_matrices * self.hidden * self.intermediate;
        let mlp = match &self.experts {
            None => self.layers * dense,
            Some(experts) => {
                let sparse = self.layers.saturating_sub(experts.dense_layers);
                let used =
                    experts_used.min(experts.total) * experts.intermediate + experts.shared_intermediate;
                let each = self.hidden * experts.total + self.mlp_matrices * self.hidden * used;
                experts.dense_layers.min(self.layers) * dense + sparse * each
            }
        };
        self.layers * self.attention_weights() + mlp
    }

    fn active(&self) -> u64 {
        self.experts.map_or(0, |experts| experts.active)
    }

    /// Weights that one token meets, without the embedding table and the head.
    pub fn active_weights(&self) -> u64 {
        self.layer_weights(self.active())
    }

    /// All there are.
    pub fn all_weights(&self) -> u64 {
        let tables = if self.tied_embeddings { 1 } else { 2 };
        self.layer_weights(self.experts.map_or(0, |experts| experts.total))
            + tables * self.hidden * self.vocabulary
    }

    fn head_flops(&self) -> f64 {
        2.0 * (self.hidden * self.vocabulary) as f64
    }

    /// Scores and values of one token that attends to this many.
    fn attention_flops(&self, looked_at: f64) -> f64 {
        let dims = match &self.latent {
            None => 2 * self.head_dim,
            Some(latent) => latent.nope_dim + latent.rope_dim + latent.value_dim,
        };
        2.0 * (self.layers * self.heads * dims) as f64 * looked_at
    }

    /// A prefill of `tokens`, for each of `batch`; `heads` tokens of each go through the head.
    pub fn prefill_flops(&self, tokens: u64, batch: u64, through_head: u64) -> f64 {
        let each = 2.0 * self.active_weights() as f64 * tokens as f64
            + self.attention_flops((tokens * (tokens + 1)) as f64 / 2.0)
            + self.head_flops() * through_head as f64;
        each * batch as f64
    }

    /// One decoding step after this many tokens.
    pub fn decode_flops(&self, context: u64, batch: u64) -> f64 {
        let each =
            2.0 * self.active_weights() as f64 + self.attention_flops(context as f64) + self.head_flops();
        each * batch as f64
    }

    /// What one step of decoding has to read: weights once for all, and each one's cache.
    pub fn decode_bytes(&self, context: u64, batch: u64) -> f64 {
        let weights = self.layer_weights(self.active() * batch) + self.hidden * self.vocabulary;
        let cached = match &self.latent {
            None => 2 * self.kv_heads * self.head_dim,
            Some(latent) => latent.kv_rank + latent.rope_dim,
        };
        let cache = (self.layers * cached * context * batch) as f64;
        (weights as f64 + cache) * self.weight_bytes
    }
}

fn experts(known: &dyn Fn(&[&str]) -> Option<u64>, intermediate: u64) -> Option<Experts> {
    let total =
        known(&["num_local_experts", "num_experts", "n_routed_experts"]).filter(|total| *total > 1)?;
    let active = known(&["num_experts_per_tok", "moe_top_k"]).unwrap_or(1);
    let each = known(&["moe_intermediate_size"]).unwrap_or(intermediate);
    let shared = known(&["shared_expert_intermediate_size"])
        .unwrap_or_else(|| known(&["n_shared_experts"]).unwrap_or(0) * each);
    let dense_layers = known(&["first_k_dense_replace"]).unwrap_or(0);
    Some(Experts { total, active, intermediate: each, shared_intermediate: shared, dense_layers })
}

fn latent(known: &dyn Fn(&[&str]) -> Option<u64>) -> Option<Latent> {
    Some(Latent {
        kv_rank: known(&["kv_lora_rank"])?,
        query_rank: known(&["q_lora_rank"]),
        nope_dim: known(&["qk_nope_head_dim"])?,
        rope_dim: known(&["qk_rope_head_dim"])?,
        value_dim: known(&["v_head_dim"])?,
    })
}

fn weight_bytes(config: &Value) -> f64 {
    let name =
        ["dtype", "torch_dtype"].iter().find_map(|key| config.get(key)?.as_str()).unwrap_or("bfloat16");
    match name.rsplit('.').next().unwrap_or(name) {
        "float32" | "fp32" => 4.0,
        "float8_e4m3fn" | "float8_e5m2" | "int8" => 1.0,
        _ => 2.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Against the sizes that their makers state.
    #[test]
    fn known_models() {
        let llama = json!({
            "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32,
            "intermediate_size": 14336, "vocab_size": 128256, "tie_word_embeddings": false, "torch_dtype": "bfloat16",
        });
        let llama = Decoder::of_config(&llama).unwrap();
        assert!((llama.all_weights() as f64 / 8.03e9 - 1.0).abs() < 0.005, "{}", llama.all_weights());
        let mixtral = json!({
            "hidden_size": 4096, "num_attention_heads": 32, "num_key_value_heads": 8, "num_hidden_layers": 32,
            "intermediate_size": 14336, "vocab_size": 32000, "num_local_experts": 8, "num_experts_per_tok": 2,
            "tie_word_embeddings": false,
        });
        let mixtral = Decoder::of_config(&mixtral).unwrap();
        assert!((mixtral.all_weights() as f64 / 46.7e9 - 1.0).abs() < 0.005, "{}", mixtral.all_weights());
        let active = mixtral.active_weights() + 2 * 4096 * 32000;
        assert!((active as f64 / 12.9e9 - 1.0).abs() < 0.005, "{active}");
        let deepseek = json!({
            "hidden_size": 7168, "num_attention_heads": 128, "num_key_value_heads": 128, "num_hidden_layers": 61,
            "intermediate_size": 18432, "moe_intermediate_size": 2048, "n_routed_experts": 256, "n_shared_experts": 1,
            "num_experts_per_tok": 8, "first_k_dense_replace": 3, "q_lora_rank": 1536, "kv_lora_rank": 512,
            "qk_nope_head_dim": 128, "qk_rope_head_dim": 64, "v_head_dim": 128, "vocab_size": 129280,
            "tie_word_embeddings": false,
        });
        let deepseek = Decoder::of_config(&deepseek).unwrap();
        assert!((deepseek.all_weights() as f64 / 671e9 - 1.0).abs() < 0.005, "{}", deepseek.all_weights());
        let active = deepseek.active_weights() + 2 * 7168 * 129280;
        assert!((active as f64 / 37.5e9 - 1.0).abs() < 0.03, "{active}");
        let gpt2 = json!({"n_embd": 768, "n_head": 12, "n_layer": 12, "vocab_size": 50257});
        let gpt2 = Decoder::of_config(&gpt2).unwrap();
        assert!((gpt2.all_weights() as f64 / 124e6 - 1.0).abs() < 0.02, "{}", gpt2.all_weights());
        assert_eq!(
            Decoder::of_config(&json!({"hidden_size": 1})),
            Err("it has no `num_attention_heads`".to_owned())
        );
    }

    #[test]
    fn by_hand() {
        let config = json!({
            "hidden_size": 2, "num_attention_heads": 1, "num_hidden_layers": 3, "intermediate_size": 5,
            "vocab_size": 7, "tie_word_embeddings": true,
        });
        let model = Decoder::of_config(&config).unwrap();
        // A layer: 2 x 2 x 4 for attention and 3 x 2 x 5 for the MLP.
        assert_eq!(model.active_weights(), 3 * (16 + 30));
        assert_eq!(model.all_weights(), 3 * 46 + 14);
        // 10 tokens, of which the last one goes through the head; 55 pairs of tokens.
        assert_eq!(model.prefill_flops(10, 1, 1), 2.0 * 138.0 * 10.0 + 4.0 * 3.0 * 2.0 * 55.0 + 28.0);
        assert_eq!(model.decode_flops(4, 2), 2.0 * (2.0 * 138.0 + 4.0 * 3.0 * 2.0 * 4.0 + 28.0));
        assert_eq!(model.decode_bytes(4, 2), (138.0 + 14.0 + 3.0 * 4.0 * 4.0 * 2.0) * 2.0);
    }
}
