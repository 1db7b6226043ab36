//! Keys that are told by how they begin. One table: what is looked for, what
//! `docs/secrets.md` lists, and what the tests try.

/// Which characters a key goes on with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Body {
    Alnum,
    /// And `_`.
    Word,
    /// And `_`, `-`.
    Dashed,
    /// And `_`, `-`, `.`.
    Dotted,
    /// And `_`, `-`, `/`, `.`, `@`: the rest of a webhook's path.
    Path,
    /// And what Base64 and its percent-encoded form have: `+`, `/`, `=`, `_`, `-`, `%`.
    Base64,
    /// Capital letters and digits, exactly as many.
    Upper,
    Hex,
}

impl Body {
    pub(super) fn has(self, byte: u8) -> bool {
        byte.is_ascii_alphanumeric()
            && (self != Self::Upper || !byte.is_ascii_lowercase())
            && (self != Self::Hex || byte.is_ascii_hexdigit())
            || match self {
                Self::Alnum | Self::Upper | Self::Hex => false,
                Self::Word => byte == b'_',
                Self::Dashed => b"_-".contains(&byte),
                Self::Dotted => b"_-.".contains(&byte),
                Self::Path => b"_-/.@".contains(&byte),
                Self::Base64 => b"+/=_-%".contains(&byte),
            }
    }
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Shape {
    /// Whose key it is, as the documentation says.
    #[cfg_attr(not(test), expect(dead_code, reason = "a test holds the documentation against it"))]
    pub(super) of: &'static str,
    pub(super) prefix: &'static str,
    pub(super) body: Body,
    /// Characters behind the prefix, at least.
    pub(super) least: usize,
    /// A digit or a capital letter must be among them: the prefix alone might begin a word.
    pub(super) mixed: bool,
    /// The prefix says nothing secret and is kept.
    pub(super) keeps_prefix: bool,
}

const fn shape(of: &'static str, prefix: &'static str, body: Body, least: usize) -> Shape {
    Shape { of, prefix, body, least, mixed: false, keeps_prefix: false }
}

const fn mixed(of: &'static str, prefix: &'static str, body: Body, least: usize) -> Shape {
    Shape { mixed: true, ..shape(of, prefix, body, least) }
}

const fn behind(of: &'static str, prefix: &'static str, body: Body, least: usize) -> Shape {
    Shape { keeps_prefix: true, ..shape(of, prefix, body, least) }
}

pub(super) const SHAPES: &[Shape] = &[
    mixed("Hugging Face", "hf_", Body::Alnum, 16),
    mixed("Hugging Face", "api_org_", Body::Alnum, 16),
    mixed("OpenAI and others", "sk-", Body::Alnum, 16),
    shape("OpenAI", "sk-proj-", Body::Dashed, 16),
    shape("OpenAI", "sk-svcacct-", Body::Dashed, 16),
    shape("OpenAI", "sk-admin-", Body::Dashed, 16),
    shape("Anthropic", "sk-ant-", Body::Dashed, 16),
    shape("OpenRouter", "sk-or-", Body::Dashed, 16),
    shape("Langfuse", "sk-lf-", Body::Dashed, 16),
    mixed("LangSmith", "lsv2_", Body::Word, 24),
    shape("NVIDIA", "nvapi-", Body::Dashed, 16),
    mixed("Groq", "gsk_", Body::Alnum, 20),
    mixed("Replicate", "r8_", Body::Alnum, 20),
    mixed("xAI", "xai-", Body::Alnum, 20),
    mixed("Perplexity", "pplx-", Body::Alnum, 20),
    mixed("Weights & Biases", "wandb_v1_", Body::Word, 20),
    shape("GitHub", "ghp_", Body::Alnum, 20),
    shape("GitHub", "gho_", Body::Alnum, 20),
    shape("GitHub", "ghu_", Body::Alnum, 20),
    shape("GitHub", "ghs_", Body::Alnum, 20),
    shape("GitHub", "ghr_", Body::Alnum, 20),
    shape("GitHub", "github_pat_", Body::Word, 20),
    shape("GitLab", "glpat-", Body::Dotted, 16),
    shape("GitLab", "gldt-", Body::Dotted, 16),
    shape("GitLab", "glrt-", Body::Dotted, 16),
    shape("GitLab", "glptt-", Body::Dotted, 16),
    shape("GitLab", "glcbt-", Body::Dotted, 16),
    shape("Slack", "xoxa-", Body::Dashed, 10),
    shape("Slack", "xoxb-", Body::Dashed, 10),
    shape("Slack", "xoxc-", Body::Dashed, 10),
    shape("Slack", "xoxd-", Body::Base64, 10),
    shape("Slack", "xoxe-", Body::Dashed, 10),
    shape("Slack", "xoxe.xox", Body::Dotted, 10),
    shape("Slack", "xoxp-", Body::Dashed, 10),
    shape("Slack", "xoxr-", Body::Dashed, 10),
    shape("Slack", "xoxs-", Body::Dashed, 10),
    shape("Slack", "xapp-", Body::Dashed, 10),
    behind("Slack webhook", "hooks.slack.com/", Body::Path, 20),
    behind("Discord webhook", "discord.com/api/webhooks/", Body::Path, 20),
    behind("Discord webhook", "discordapp.com/api/webhooks/", Body::Path, 20),
    behind("Teams webhook", "webhook.office.com/", Body::Path, 20),
    behind("Telegram bot", "api.telegram.org/bot", Body::Path, 20),
    shape("AWS", "AKIA", Body::Upper, 16),
    shape("AWS", "ASIA", Body::Upper, 16),
    shape("AWS", "ABIA", Body::Upper, 16),
    shape("AWS", "ACCA", Body::Upper, 16),
    shape("AWS Bedrock", "ABSK", Body::Base64, 60),
    shape("Google", "AIza", Body::Dashed, 30),
    shape("Google", "ya29.", Body::Dashed, 20),
    shape("Google", "GOCSPX-", Body::Dashed, 20),
    behind("Azure SAS", "sig=", Body::Base64, 30),
    behind("signed URL", "Signature=", Body::Base64, 24),
    mixed("npm", "npm_", Body::Alnum, 30),
    mixed("PyPI", "pypi-", Body::Dashed, 40),
    mixed("RubyGems", "rubygems_", Body::Hex, 40),
    shape("Docker", "dckr_pat_", Body::Dashed, 20),
    shape("Docker", "dckr_oat_", Body::Dashed, 20),
    shape("Databricks", "dapi", Body::Hex, 32),
    shape("DigitalOcean", "dop_v1_", Body::Hex, 40),
    shape("DigitalOcean", "doo_v1_", Body::Hex, 40),
    shape("Stripe", "sk_live_", Body::Alnum, 16),
    shape("Stripe", "sk_test_", Body::Alnum, 16),
    shape("Stripe", "rk_live_", Body::Alnum, 16),
    shape("Stripe", "rk_test_", Body::Alnum, 16),
    shape("Stripe", "whsec_", Body::Base64, 24),
    shape("SendGrid", "SG.", Body::Dotted, 60),
    shape("Vault", "hvs.", Body::Dashed, 20),
    shape("Vault", "hvb.", Body::Dashed, 20),
    shape("Shopify", "shpat_", Body::Hex, 32),
    shape("Linear", "lin_api_", Body::Alnum, 20),
    shape("Notion", "ntn_", Body::Alnum, 40),
    shape("Postman", "PMAK-", Body::Dashed, 40),
    shape("Grafana", "glsa_", Body::Word, 32),
    shape("Grafana", "glc_", Body::Base64, 32),
    shape("Sentry", "sntrys_", Body::Base64, 32),
    shape("Sentry", "sntryu_", Body::Hex, 32),
    shape("New Relic", "NRAK-", Body::Alnum, 20),
    shape("Atlassian", "ATATT3", Body::Base64, 40),
    shape("Tailscale", "tskey-", Body::Dashed, 20),
    shape("Doppler", "dp.pt.", Body::Alnum, 30),
    shape("Netlify", "nfp_", Body::Alnum, 30),
    shape("Pulumi", "pul-", Body::Hex, 40),
    shape("age", "AGE-SECRET-KEY-1", Body::Alnum, 40),
];

impl Shape {
    /// How long the key is that begins with `text`; none when it is none.
    pub(super) fn length(&self, text: &[u8]) -> Option<usize> {
        let body = text.strip_prefix(self.prefix.as_bytes())?;
        let fits = |byte: &&u8| self.body.has(**byte);
        let shortest = body.get(..self.least)?;
        if !shortest.iter().all(|byte| self.body.has(*byte)) {
            return None;
        }
        let telling = |byte: &u8| byte.is_ascii_digit() || byte.is_ascii_uppercase();
        let start = body.iter().take(64).take_while(fits);
        // A long run of small letters is no word, either.
        if self.mixed && !start.clone().any(telling) && start.count() < 30 {
            return None;
        }
        let length = match self.body {
            Body::Upper if body.get(self.least).is_some_and(u8::is_ascii_alphanumeric) => return None,
            Body::Upper => self.least,
            _ => body.iter().take_while(fits).count(),
        };
        Some(self.prefix.len() + length)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths() {
        let of = |prefix: &str, text: &str| {
            let shape = SHAPES.iter().find(|shape| shape.prefix == prefix).unwrap();
            shape.length(text.as_bytes())
        };
        assert_eq!(of("hf_", "hf_abcdefghijklmnopqrsT1."), Some(24));
        assert_eq!(of("hf_", "hf_transformersmodelloader"), None);
        assert_eq!(of("hf_", "hf_hub_download_from_a_folder1"), None);
        assert_eq!(of("AKIA", "AKIAIOSFODNN7EXAMPLE"), Some(20));
        assert_eq!(of("AKIA", "AKIAIOSFODNN7EXAMPLEX"), None);
        assert_eq!(of("sk-", "sk-learn-pipeline-v2-final-3"), None);
    }

    #[test]
    fn no_prefix_twice() {
        let mut prefixes: Vec<&str> = SHAPES.iter().map(|shape| shape.prefix).collect();
        prefixes.sort_unstable();
        prefixes.dedup();
        assert_eq!(prefixes.len(), SHAPES.len());
    }
}
