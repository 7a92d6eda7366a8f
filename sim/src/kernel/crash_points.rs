//! Explores crash points: between two steps, takes images of what a crash now would leave, has them recovered, and has invariants judge them. The run
//! itself notices nothing. Which points, is drawn in `invariant::crash_points`; the recovery itself is in `recovery`.

use super::beat::Beat;
use super::core::{Core, Phase};
use super::handle::Kernel;
use super::recovery::{Moment, Recovery, plan_of_recovery, recover};
use crate::blocking::Apart;
use crate::invariant::{CrashPoints, Readings, Sample, Survivor, Violation};
use crate::plan::{Plan, Scenario};
use crate::schedule::Ready;
use crate::seed::{Draw, Path, stream_key};
use crate::sqlite::Saved;
use crate::sys::disk::{CrashReport, Digest, Disk, InodeId, Persistence};
use crate::trace::{CallKind, Interest, TaskId};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

/// The calls that may change the durable image: fsync(2), rename(2) over a file (ext4's auto_da_alloc), SQLite's deletion with a sync of the directory.
const CHANGES: Interest =
    Interest::call(CallKind::Sync).and(Interest::call(CallKind::Rename)).and(Interest::call(CallKind::Unlink));

/// How many recovered disks are kept. A disk shares what it can with the run's own.
const KEPT_MAX: usize = 64;

/// How many operations a violation names at most, of those that an image kept and of those that it lost.
const NAMED_MAX: usize = 8;

/// Looks for crash points in a run.
pub(super) struct Explorer<'a> {
    points: Interest,
    exploration: Option<Box<Exploration<'a>>>,
}

/// What there is to an exploration that takes place.
struct Exploration<'a> {
    scenario: &'a (dyn Scenario + Sync),
    plan: &'a Plan,
    plan_of_recovery: Rc<Plan>,
    apart: Apart<'a>,
    beat: Option<Arc<Beat>>,
    /// `None` takes every point.
    sample: Option<Sample>,
    stream_key: u64,
    acknowledged: u64,
    /// Every image met so far, by its digest, with how much had been acknowledged when it was last judged.
    judged: BTreeMap<Digest, u64>,
    kept: BTreeMap<Digest, Rc<Kept>>,
    kept_in_order: VecDeque<Digest>,
}

/// An image that has been recovered.
struct Kept {
    disk: Disk,
    recovery: Recovery,
    crashed_ns: u64,
    readings: Readings,
}

/// An image that a crash may leave.
struct Image {
    disk: Disk,
    report: CrashReport,
}

impl<'a> Explorer<'a> {
    /// Looks for none.
    pub(super) fn none() -> Explorer<'a> {
        Explorer { points: Interest::NONE, exploration: None }
    }

    /// Explores as chosen, if one of the kernel's invariants wants it.
    pub(super) fn new(
        choice: CrashPoints,
        scenario: &'a (dyn Scenario + Sync),
        plan: &'a Plan,
        apart: Apart<'a>,
        kernel: &Kernel,
    ) -> Explorer<'a> {
        let is_wanted = kernel.with(|core| core.driver.as_ref().is_some_and(|driver| driver.judges_survivors()));
        let sample = match choice {
            CrashPoints::None => return Explorer::none(),
            _ if !is_wanted => {
                // So that nobody takes the silence for a proof.
                kernel.with(|core| core.count("crash_points_without_judge", 1));
                return Explorer::none();
            }
            CrashPoints::Sampled(count) => Some(Sample::draw(count, plan.operations.len() as u64, plan.seed)),
            CrashPoints::All => None,
        };
        let exploration = Exploration {
            scenario,
            plan,
            plan_of_recovery: Rc::new(plan_of_recovery(plan)),
            apart,
            beat: kernel.with(|core| core.beat.clone()),
            sample,
            stream_key: stream_key("crash-point"),
            acknowledged: 0,
            judged: BTreeMap::new(),
            kept: BTreeMap::new(),
            kept_in_order: VecDeque::new(),
        };
        Explorer { points: CHANGES.and(Interest::CLAIMS), exploration: Some(Box::new(exploration)) }
    }

    /// Whether a step of this kind may be a crash point.
    #[inline]
    pub(super) fn is_point(&self, kind: CallKind) -> bool {
        self.points.meets(Interest::call(kind))
    }

    /// The picked call is about to take effect. True if a crash now would violate something: then the run is over.
    #[cold]
    pub(super) fn before(&mut self, kernel: &Kernel, task: TaskId, kind: CallKind) -> bool {
        let Some(exploration) = &mut self.exploration else { return false };
        // With nothing pending, nothing can become durable; and a rename makes only ext4 write anything.
        let changes = CHANGES.meets(Interest::call(kind))
            && kernel.with(|core| {
                core.disk.pending_count() > 0
                    && (kind != CallKind::Rename || core.disk.persistence() == Persistence::Ext4)
            });
        changes && exploration.point(kernel, task, false)
    }

    /// The picked call has taken effect.
    #[cold]
    pub(super) fn after(&mut self, kernel: &Kernel, task: TaskId) {
        let Some(exploration) = &mut self.exploration else { return };
        let acknowledged = kernel.with(|core| core.driver.as_ref().map_or(0, |driver| driver.acknowledged()));
        if acknowledged != exploration.acknowledged {
            exploration.acknowledged = acknowledged;
            exploration.point(kernel, task, true);
        }
    }
}

impl Exploration<'_> {
    /// A crash point. True if a crash now would violate something.
    fn point(&mut self, kernel: &Kernel, task: TaskId, is_acknowledgement: bool) -> bool {
        let is_taken = kernel.with(|core| {
            // The preparation is not what is tested: no fault hits it either.
            core.phase != Phase::Setup
                && core.violations.is_empty()
                && core.driver.as_ref().is_some_and(|driver| driver.judges_survivors())
                && self.sample.as_mut().is_none_or(|sample| sample.takes(core.operations_begun))
        });
        if !is_taken {
            return false;
        }
        let (images, moment) = kernel.with(|core| {
            core.count("crash_points", 1);
            let moment =
                Moment { now_ns: core.now_ns, machine_boots: core.machine_boots, wall_offset_ns: core.wall_offset_ns };
            (self.images(core, is_acknowledgement), moment)
        });
        for image in images {
            if let Err((mut violation, report)) = self.judge(kernel, image, moment) {
                kernel.with(|core| {
                    let words = core.crash_in_words(task, is_acknowledgement, &report, &violation.message);
                    violation.message = format!("{}\n{words}", violation.message);
                    core.violations.push(violation.at(core.step, core.now_ns));
                });
                return true;
            }
        }
        false
    }

    /// Images that a crash now may leave: the one that lost most, one that is drawn, and the one that lost nothing. Where points are sampled images are
    /// too: another point tells more than a third image of this one.
    fn images(&self, core: &Core, is_acknowledgement: bool) -> Vec<Image> {
        let operation = core.step << 1 | u64::from(is_acknowledgement);
        let mut draw = core.seed.stream_keyed(self.stream_key, Path::RUN, operation);
        // Asked of the run's own disk, so that images inherit what it remembers of unchanged files.
        core.disk.durable_digest();
        let image = |(disk, report)| Image { disk, report };
        let mut images = vec![image(core.disk.crash_image_of_least(&mut draw))];
        if core.disk.pending_count() > 0 {
            let takes_most = self.sample.is_none() || draw.chance(1, 3);
            if self.sample.is_none() || !takes_most {
                images.push(image(core.disk.crash_image(&mut draw)));
            }
            if takes_most {
                images.push(image(core.disk.crash_image_of_most(&mut draw)));
            }
        }
        images
    }

    /// Has an image recovered, unless it was before, and judged, unless it was since the last acknowledgement.
    fn judge(&mut self, kernel: &Kernel, image: Image, moment: Moment) -> Result<(), (Violation, CrashReport)> {
        let Image { disk, report } = image;
        let digest = disk.durable_digest();
        match self.judged.insert(digest, self.acknowledged) {
            Some(acknowledged) if acknowledged == self.acknowledged => return Ok(()),
            Some(_) => {}
            None => kernel.with(|core| core.count("crash_images", 1)),
        }
        let kept = match self.kept.get(&digest) {
            Some(kept) => kept.clone(),
            None => {
                kernel.with(|core| core.count("crash_recoveries", 1));
                self.recover(digest, disk, moment)
            }
        };
        let judged = kernel.with(|core| {
            let Some(driver) = &core.driver else { return Ok(()) };
            let processes = match &kept.recovery.processes {
                Ok(processes) => processes,
                // What could not be read back for want of an honest fsync could not be recovered from either.
                Err(_) if driver.durability_is_void() => return Ok(()),
                Err(violation) => {
                    let known = kept.recovery.failed.as_ref().map_or(Ok(()), |failed| driver.unrecovered(failed));
                    return known.and_then(|()| Err(violation.clone()));
                }
            };
            core.judges(true);
            let judged = driver.survived(&Survivor {
                disk: &kept.disk,
                processes,
                readings: &kept.readings,
                crashed_ns: kept.crashed_ns,
                recovered_ns: kept.recovery.recovered_ns,
                boot_id: kept.recovery.boot_id,
                durability_is_void: driver.durability_is_void(),
            });
            core.judges(false);
            judged
        });
        judged.map_err(|violation| (violation, report))
    }

    fn recover(&mut self, digest: Digest, disk: Disk, moment: Moment) -> Rc<Kept> {
        // What the run's programs will draw from SQLite's generator must not depend on the recovery.
        let saved = Saved::new();
        let (scenario, plan) = (self.scenario, self.plan);
        let plan_of_recovery = Plan { chaos_ns: moment.now_ns, ..(*self.plan_of_recovery).clone() };
        let beat = self.beat.clone();
        let work = move |disk: &mut Disk| recover(scenario, plan, &plan_of_recovery, moment, beat, disk);
        let (disk, recovery) = self.apart.with_disk(disk, work);
        drop(saved);
        let kept = Rc::new(Kept { disk, recovery, crashed_ns: moment.now_ns, readings: Readings::default() });
        if self.kept_in_order.len() == KEPT_MAX
            && let Some(oldest) = self.kept_in_order.pop_front()
        {
            self.kept.remove(&oldest);
        }
        self.kept_in_order.push_back(digest);
        self.kept.insert(digest, kept.clone());
        kept
    }
}

impl Core {
    /// When the power would have failed, and what the image kept and lost: first what concerns the files that `message` names.
    fn crash_in_words(&self, task: TaskId, is_acknowledgement: bool, report: &CrashReport, message: &str) -> String {
        let Ready { process, kind, object, .. } = self.tasks[task.0 as usize].call;
        let name = &self.processes[process.0 as usize].name;
        let moment = match self.disk.path_of(InodeId(object)).filter(|_| object != 0) {
            _ if is_acknowledgement => {
                let kind = self.driver.as_ref().map_or("", |driver| driver.last_acknowledged());
                format!("just after {name}'s claim `{kind}`")
            }
            Some(path) => format!("just before {name}'s {kind} of {path}"),
            None => format!("just before {name}'s {kind}"),
        };
        let (kept, lost) = self.disk.kept_and_lost(report);
        let kept = some_of(kept, message, "kept nothing that was not durable");
        let lost = some_of(lost, message, "lost nothing");
        // Three lines: each of the lists may be long.
        format!("{}{}, {moment}, on a disk\nthat {kept};\n{lost}", Violation::OF_A_CRASH, self.step)
    }
}

/// A few, and how many more there are: what concerns a file that is named in `message`, then the latest.
fn some_of(words: Vec<String>, message: &str, none: &str) -> String {
    if words.is_empty() {
        return none.to_owned();
    }
    let is_named = |word: &str| word.starts_with('/') && message.contains(word);
    let (mut shown, mut others): (Vec<String>, Vec<String>) =
        words.into_iter().partition(|words| words.split([' ', ',']).any(is_named));
    let room = NAMED_MAX.saturating_sub(shown.len());
    let more = others.len().saturating_sub(room) + shown.len().saturating_sub(NAMED_MAX);
    shown.truncate(NAMED_MAX);
    shown.extend(others.split_off(others.len().saturating_sub(room)));
    let text = shown.join(", ");
    if more > 0 { format!("{text}, and {more} more") } else { text }
}
