//! What programs may ask of the machine without a step: clocks, entropy, PIDs, boot id.

use super::core::Core;
use crate::seed::{Draw, Path};
use crate::sys::time::WALL_START_NS;
use crate::sys::{Identity, ProcessInfo};
use crate::trace::ProcessId;

impl Core {
    pub(crate) fn monotonic_ns(&self) -> u64 {
        self.now_ns - self.machine_started_ns
    }

    pub(crate) fn wall_ns(&self, process: ProcessId) -> u64 {
        let offset_ns = self.wall_offset_ns.saturating_add(self.processes[process.0 as usize].skew_ns);
        WALL_START_NS.saturating_add(self.now_ns).saturating_add_signed(offset_ns)
    }

    pub(crate) fn begin_operation(&mut self, identity: &Identity, operation: u64) {
        if self.is_alive(identity) {
            self.operations_begun += 1;
            self.strategy.began(identity.process, identity.ordinal, operation);
            self.set_operation(identity.process, operation);
            crate::sqlite::forget_seed();
        }
    }

    pub(crate) fn entropy_bits(&mut self, identity: &Identity) -> u64 {
        if !self.is_alive(identity) {
            return 0;
        }
        self.processes[identity.process.0 as usize].entropy(self.seed, self.stream_keys).bits()
    }

    /// Bytes to seed SQLite's generator with. False from a dead process, and then `bytes` are as they were.
    pub(crate) fn fill_sqlite_entropy(&mut self, identity: &Identity, bytes: &mut [u8]) -> bool {
        let is_current = self.is_current(identity);
        if is_current {
            self.processes[identity.process.0 as usize].sqlite_entropy(self.seed, self.stream_keys).fill(bytes);
        }
        is_current
    }

    pub(crate) fn count(&mut self, name: &'static str, by: u64) {
        self.observations.get_mut().count(name, by);
    }

    pub(crate) fn pid_of(&self, process: ProcessId) -> u32 {
        self.processes[process.0 as usize].pid
    }

    pub(crate) fn process_started_ns(&self, process: ProcessId) -> u64 {
        self.processes[process.0 as usize].started_ns.saturating_sub(self.machine_started_ns)
    }

    pub(crate) fn name_of(&self, process: ProcessId) -> &str {
        &self.processes[process.0 as usize].name
    }

    pub(crate) fn is_terminating(&self, process: ProcessId) -> bool {
        self.processes[process.0 as usize].terminating
    }

    pub(crate) fn boot_id(&self) -> u64 {
        self.seed.stream_of("boot-id", Path::RUN, u64::from(self.machine_boots)).bits()
    }

    /// The live process that has a PID: one of the plan, or a bystander.
    pub(crate) fn process_info(&self, pid: u32) -> Option<ProcessInfo> {
        let since_boot = |at_ns: u64| at_ns.saturating_sub(self.machine_started_ns);
        let planned = self
            .processes
            .iter()
            .find(|process| process.is_live() && process.pid == pid)
            .map(|process| process.started_ns);
        let is_there =
            |(of, from_ns, until_ns): &&(u32, u64, u64)| *of == pid && (*from_ns..*until_ns).contains(&self.now_ns);
        let bystander = || self.bystanders.iter().find(is_there).map(|(_, from_ns, _)| *from_ns);
        planned.or_else(bystander).map(|at_ns| ProcessInfo { started_ns: since_boot(at_ns) })
    }
}
