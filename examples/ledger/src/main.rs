//! Agents of your own in seedstorm, with a real database: clerks who move money between accounts. Copy the folder of this file and begin from it.
//!
//! A program is an async function on `Sys`, its operating system; code that blocks, such as rusqlite, runs as it is inside `sys.blocking`.

use rusqlite::{Connection, TransactionBehavior, params};
use seedstorm_sim::invariant::{Invariant, Survivor, Violation};
use seedstorm_sim::plan::{FaultKind, FaultPlan, MUTANT, Operation, OptionsError, Place, PlantedBug, Refusal, Trigger};
use seedstorm_sim::sqlite::inspect;
use seedstorm_sim::sys::claim::{Claim, ClaimKind};
use seedstorm_sim::sys::disk::Disk;
use seedstorm_sim::trace::{Event, Interest};
use seedstorm_sim::{Draw, Exit, Options, Os, Plan, Scenario, Seed, Sys, View, World};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::process::ExitCode;
use std::rc::Rc;
use std::time::Duration;

const DATABASE: &str = "/ledger.db";
const ACCOUNTS: u64 = 4;
const DEPOSIT: i64 = 100;
const CLERKS_MAX: u64 = 100;
/// More or less.
const STEPS_OF_TRANSFER: u64 = 60;

const READS_EARLY: &str = "reads-early";
const TELLS_EARLY: &str = "tells-early";

/// What a clerk believes: this transfer is done, and survives whatever comes.
#[derive(Serialize, Deserialize)]
struct Transferred {
    number: u64,
}

impl Claim for Transferred {
    const KIND: &'static str = "transferred";
}

fn open() -> rusqlite::Result<Connection> {
    let connection = Connection::open(DATABASE)?;
    connection.busy_timeout(Duration::from_secs(600))?;
    connection.execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL")?;
    Ok(connection)
}

fn create() -> rusqlite::Result<()> {
    let connection = open()?;
    connection.execute_batch(
        "CREATE TABLE accounts (id INTEGER PRIMARY KEY, balance INTEGER NOT NULL);
         CREATE TABLE transfers (number INTEGER PRIMARY KEY)",
    )?;
    (0..ACCOUNTS).try_for_each(|id| {
        connection.execute("INSERT INTO accounts VALUES (?1, ?2)", params![id as i64, DEPOSIT]).map(drop)
    })
}

/// Moves one unit. Plain rusqlite: each of SQLite's reads, writes, syncs and locks is a step, and anything may happen between two of them.
fn transfer(os: &Os, number: u64, from: i64, to: i64, bug: &str) -> rusqlite::Result<()> {
    let mut connection = open()?;
    let balances = |connection: &Connection| -> rusqlite::Result<(i64, i64)> {
        let one = |id| connection.query_row("SELECT balance FROM accounts WHERE id = ?1", [id], |row| row.get(0));
        Ok((one(from)?, one(to)?))
    };
    let early = if bug == READS_EARLY { Some(balances(&connection)?) } else { None };
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let (source, target) = early.map_or_else(|| balances(&transaction), Ok)?;
    // A clerk who was killed starts over, and may have done this one already.
    if transaction.execute("INSERT OR IGNORE INTO transfers VALUES (?1)", [number as i64])? == 0 {
        return Ok(());
    }
    for (id, balance) in [(from, source - 1), (to, target + 1)] {
        transaction.execute("UPDATE accounts SET balance = ?2 WHERE id = ?1", params![id, balance])?;
    }
    if bug == TELLS_EARLY {
        os.claim(&Transferred { number });
        return transaction.commit();
    }
    transaction.commit()?;
    os.claim(&Transferred { number });
    Ok(())
}

async fn clerk(sys: Sys, plan: Rc<Plan>) -> Exit {
    let name = sys.name();
    for operation in plan.operations.iter().filter(|operation| operation.process == name) {
        sys.begin_operation(operation.id);
        // A signal may cut it short.
        let _ = sys.sleep(operation.think_ns).await;
        let account = |key: &str| operation.arguments.get(key).and_then(|id| id.as_integer()).unwrap_or(0);
        let (number, from, to) = (operation.id, account("from"), account("to"));
        let bug = plan.setting_str(MUTANT).unwrap_or_default().to_owned();
        if let Err(error) = sys.blocking(move |os| transfer(os, number, from, to, &bug)).await {
            return Exit::failure(error.to_string());
        }
    }
    Exit::success()
}

/// An invariant sees each event that it wants, just after it took effect, and judges. This one opens a copy of the database and adds up.
struct MoneyKept;

impl Invariant for MoneyKept {
    fn id(&self) -> &'static str {
        "money-kept"
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn observe(&mut self, event: &Event<'_>, view: &View<'_>) -> Result<(), Violation> {
        let Some(Transferred { number }) = event.claim() else { return Ok(()) };
        view.cover("transferred");
        let sum = "SELECT sum(balance) FROM accounts";
        let sum: rusqlite::Result<i64> = inspect(view.disk(), || open()?.query_row(sum, [], |row| row.get(0)));
        let expected = ACCOUNTS as i64 * DEPOSIT;
        let message = match sum {
            Ok(sum) if sum == expected => return Ok(()),
            Ok(sum) => format!("after transfer {number} the accounts hold {sum}, and held {expected}"),
            Err(error) => format!("after transfer {number} the accounts can't be added up: {error}"),
        };
        Err(Violation::new(self.id(), message).object("accounts").role("clerk").loss("lost-update"))
    }
}

/// What was acknowledged is there at the end, and after a power loss at any moment: seedstorm asks at many of them.
#[derive(Default)]
struct TransfersKept {
    acknowledged: BTreeSet<u64>,
}

impl TransfersKept {
    fn judge(&self, disk: &Disk) -> Result<(), Violation> {
        let found = |number| {
            let find = "SELECT EXISTS (SELECT 1 FROM transfers WHERE number = ?1)";
            open()?.query_row(find, [number as i64], |row| row.get::<_, bool>(0))
        };
        let lost = inspect(disk, || self.acknowledged.iter().find(|number| found(**number) != Ok(true)));
        let Some(number) = lost else { return Ok(()) };
        let message = format!("transfer {number} was acknowledged, and is not there");
        Err(Violation::new("transfers-kept", message).object("transfer").role("clerk").loss("lost"))
    }
}

impl Invariant for TransfersKept {
    fn id(&self) -> &'static str {
        "transfers-kept"
    }

    fn interest(&self) -> Interest {
        Interest::CLAIMS
    }

    fn rests_on_durability(&self) -> bool {
        true
    }

    fn observe(&mut self, event: &Event<'_>, _view: &View<'_>) -> Result<(), Violation> {
        self.acknowledged.extend(event.claim().map(|Transferred { number }| number));
        Ok(())
    }

    fn finish(&mut self, view: &View<'_>) -> Result<(), Violation> {
        self.judge(view.disk())
    }

    fn acknowledgements(&self) -> Option<&'static [&'static str]> {
        Some(&[Transferred::KIND])
    }

    fn survived(&self, survivor: &Survivor<'_>) -> Result<(), Violation> {
        self.judge(survivor.disk())
    }
}

struct Ledger;

impl Scenario for Ledger {
    fn name(&self) -> &'static str {
        "ledger"
    }

    fn about(&self) -> &'static str {
        "clerks who move money between accounts"
    }

    fn faults(&self) -> &'static [FaultKind] {
        &[FaultKind::Kill]
    }

    /// Everything that a seed decides: who does what when, and what goes wrong. What the command line says comes before what is drawn.
    fn plan(&self, seed: Seed, options: &Options) -> Result<Plan, OptionsError> {
        let settings = options.settings(&[], &self.planted_bugs())?;
        let mut stream = seed.stream("ledger");
        let clerks = u64::from(options.workers.unwrap_or(3));
        if !(1..=CLERKS_MAX).contains(&clerks) {
            let allowed = format!("1 to {CLERKS_MAX}");
            return Err(OptionsError { option: "--workers".into(), value: clerks.to_string(), allowed });
        }
        let operation = |id| {
            let (from, step) = (stream.below(ACCOUNTS), stream.between(1, ACCOUNTS - 1));
            let accounts = [("from", from), ("to", (from + step) % ACCOUNTS)];
            let arguments = accounts.map(|(key, id)| (key.to_owned(), (id as i64).into())).into();
            let process = format!("clerk-{}", id % clerks);
            let think_ns = stream.below(2_000_000);
            Operation { id, process, kind: "transfer".into(), not_before_ns: 0, think_ns, arguments }
        };
        let operations: Vec<Operation> = (1..=10 * clerks).map(operation).collect();
        let kill = |id| {
            let process = format!("clerk-{}", stream.below(clerks));
            FaultPlan::new(id, FaultKind::Kill, Some(process), Trigger::AtNs(stream.below(30_000_000)))
        };
        let faults = options.faults.choose((1..=2).map(kill).collect());
        let mut plan = Plan { settings, operations, faults, ..Plan::plain(self.name(), seed) };
        plan.strategy = options.strategy_of(seed, STEPS_OF_TRANSFER * plan.operations.len() as u64);
        plan.chaos_ns = options.duration_ns.unwrap_or(plan.chaos_ns);
        plan.settings.insert("clerks".into(), (clerks as i64).into());
        Ok(plan)
    }

    /// A plan from a file holds nothing that the options would refuse, and moves money between accounts that there are.
    fn check(&self, plan: &Plan) -> Result<(), Refusal> {
        plan.check_planted_bug(&self.planted_bugs())?;
        let clerks = plan.settings.get("clerks");
        if !clerks
            .and_then(|clerks| clerks.as_integer())
            .is_some_and(|clerks| (1..=CLERKS_MAX as i64).contains(&clerks))
        {
            let value = clerks.map_or("nothing".to_owned(), ToString::to_string);
            return Err(Refusal::value(Place::Setting("clerks".into()), value, format!("1 to {CLERKS_MAX}")));
        }
        let accounts = |operation: &Operation| {
            let account = |key: &'static str| (operation.id, key, operation.arguments.get(key).cloned());
            ["from", "to"].map(account)
        };
        for (id, key, account) in plan.operations.iter().flat_map(accounts) {
            let number = account.as_ref().and_then(|account| account.as_integer());
            if !number.is_some_and(|number| (0..ACCOUNTS as i64).contains(&number)) {
                let place = Place::Operation { id, key: Some(key.into()) };
                let value = account.map_or("nothing".to_owned(), |account| account.to_string());
                return Err(Refusal::value(place, value, format!("0 to {}", ACCOUNTS - 1)));
            }
        }
        Ok(())
    }

    fn populate(&self, plan: &Plan, world: &mut World) {
        world.prepare(|sys| async move {
            match sys.blocking(|_| create()).await {
                Ok(()) => Exit::success(),
                Err(error) => Exit::failure(error.to_string()),
            }
        });
        let plan = Rc::new(plan.clone());
        for index in 0..plan.setting_u64("clerks", 1) as u32 {
            let plan = plan.clone();
            world.process("clerk", index, move |sys| clerk(sys, plan.clone()));
        }
        world.invariant(MoneyKept);
        world.invariant(TransfersKept::default());
    }

    fn recover(&self, _plan: &Plan, world: &mut World) {
        world.process("clerk", 0, |sys| async move {
            let read = |_: &Os| open()?.query_row("SELECT count(*) FROM transfers", [], |row| row.get::<_, i64>(0));
            match sys.blocking(read).await {
                Ok(_) => Exit::success(),
                Err(error) => Exit::failure(error.to_string()),
            }
        });
    }

    fn coverage(&self) -> &'static [&'static str] {
        &["transferred"]
    }

    fn invariants(&self) -> &'static [(&'static str, &'static str)] {
        &[
            ("money-kept", "no transfer makes or loses money"),
            ("transfers-kept", "a transfer that was acknowledged survives a crash"),
        ]
    }

    fn claims(&self) -> Vec<ClaimKind> {
        vec![ClaimKind::of::<Transferred>()]
    }

    fn planted_bugs(&self) -> Vec<PlantedBug> {
        vec![
            PlantedBug::new(READS_EARLY, "balances are read before the transaction that changes them", "money-kept"),
            PlantedBug::new(TELLS_EARLY, "a transfer is acknowledged before COMMIT", "transfers-kept"),
        ]
    }
}

fn main() -> ExitCode {
    seedstorm::main_with(&[&Ledger])
}
