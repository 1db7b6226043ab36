//! Configuration: layers of YAML and `key=value` overrides, resolved into one
//! validated [`Config`] that remembers where each value came from.

mod check;
mod de;
mod error;
mod explain;
mod flat;
mod node;
mod overrides;
mod preset;
mod print;
mod resolve;
mod resolved;
mod schema;
mod values;
mod yaml;

pub use error::ConfigError;
pub use explain::explanations;
pub(crate) use flat::flat_settings;
pub use node::Source;
pub(crate) use preset::text_of;
pub use preset::{PresetInfo, available_presets};
pub use print::masked_override;
pub(crate) use resolve::read_yaml;
pub use resolve::{Request, resolve, resolve_with};
pub use resolved::Resolved;
pub use schema::{
    Activity, CaptureConfig, CaptureRange, CheckConfig, ClockControl, CompareConfig, Config, Format,
    ModelConfig, NcuConfig, NsysConfig, RegionsConfig, RehearsalConfig, ReplayMode, ReportConfig, RunConfig,
    Sample, SecretsConfig, Share, Stage1Config, StopWith, TargetProcesses, TimelineConfig, TimelineSource,
    WorkloadConfig,
};
pub(crate) use schema::{CounterInterval, GraphNodes, ProfiledTime, RankChoice, StacksConfig};
pub use values::{Enable, Span, Text, part};
