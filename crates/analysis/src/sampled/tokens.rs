//! What a token takes from the socket.

use super::rows::Sampled;
use crate::loop_::Loop;
use crate::time::Stage;

/// Of a loop that is a stage of a language model, or lies in one, whose tokens a second are known.
pub fn energy_per_token(sampled: &mut Sampled, loops: &[Loop], stages: &[Stage]) {
    let Some(region) = loops.first().and_then(|found| found.region.as_deref()) else { return };
    let is_inside = |stage: &&Stage| {
        let rest = |outer: &String| region.strip_prefix(outer.as_str());
        stage.regions.iter().filter_map(rest).any(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let rate = stages.iter().find(is_inside).and_then(|stage| stage.tokens_per_second);
    let Some(rate) = rate.filter(|rate| *rate > 0.0) else { return };
    for energy in sampled.devices.iter_mut().filter_map(|device| device.energy.as_mut()) {
        energy.per_token_j = energy.mean_w.map(|watts| watts / rate);
    }
}
