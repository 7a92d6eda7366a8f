//! What is plainer about a configuration: each part by itself, from what matters most to a reader to what matters least.

use crate::kernel::CONSTANT;
use crate::plan::Plan;
use crate::sys::disk::Persistence;
use std::collections::BTreeMap;
use toml::Value;

/// One part of a plan that becomes plainer.
#[derive(Clone, Debug)]
pub(super) enum Change {
    /// No clock runs ahead.
    NoSkew,
    /// The disk is never full.
    EndlessDisk,
    /// A crash keeps everything up to a moment.
    Strict,
    /// Every call of a kind takes equally long.
    ConstantLatency,
    /// Nobody thinks between operations.
    NoThinking,
    /// Nobody waits for the time of an operation.
    NoWaiting,
    /// A setting has its plainest value.
    Setting(String, Value),
}

impl Change {
    pub(super) fn apply(&self, plan: &mut Plan) {
        match self {
            Change::NoSkew => plan.clock_skew_ns.clear(),
            Change::EndlessDisk => plan.disk_capacity_bytes = None,
            Change::Strict => plan.persistence = Persistence::Strict,
            Change::ConstantLatency => plan.latency = CONSTANT.to_owned(),
            Change::NoThinking => plan.operations.iter_mut().for_each(|operation| operation.think_ns = 0),
            Change::NoWaiting => plan.operations.iter_mut().for_each(|operation| operation.not_before_ns = 0),
            Change::Setting(key, value) => {
                if let Some(there) = plan.settings.get_mut(key) {
                    *there = value.clone();
                }
            }
        }
    }
}

/// Everything that could be plainer about a plan.
pub(super) fn all(plan: &Plan, plain_settings: &BTreeMap<String, Value>) -> Vec<Change> {
    let mut changes = vec![
        Change::NoSkew,
        Change::EndlessDisk,
        Change::Strict,
        Change::ConstantLatency,
        Change::NoThinking,
        Change::NoWaiting,
    ];
    let settings = plan.settings.iter().filter_map(|(key, value)| {
        let plain = plain_settings.get(key)?;
        (plain != value).then(|| Change::Setting(key.clone(), plain.clone()))
    });
    changes.extend(settings);
    changes
}
