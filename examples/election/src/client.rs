//! A client: asks for one ticket after the other, whichever server leads.

use crate::message::{Body, Message, PORT};
use seedstorm_sim::plan::Operation;
use seedstorm_sim::sys::net::{Address, Mailbox};
use seedstorm_sim::{Errno, Exit, Sys};

/// How long it waits before it asks the next server.
const PATIENCE_NS: u64 = 100_000_000;

pub(crate) async fn run(sys: Sys, servers: Vec<String>, operations: Vec<Operation>) -> Exit {
    match get_tickets(&sys, &servers, &operations).await {
        Ok(()) => Exit::success(),
        Err(error) => Exit::failure(error.to_string()),
    }
}

async fn get_tickets(sys: &Sys, servers: &[String], operations: &[Operation]) -> Result<(), Errno> {
    let mailbox = sys.bind(PORT).await?;
    let mut servers = servers.iter().cycle();
    let mut server = servers.next();
    for operation in operations {
        sys.begin_operation(operation.id);
        sys.sleep(operation.think_ns).await?;
        let ask = Message { term: 0, body: Body::Ask { request: operation.id } }.to_bytes();
        while let Some(name) = server {
            mailbox.send(&Address::new(name.as_str(), PORT), &ask).await?;
            if is_answered(&mailbox, operation.id).await? {
                break;
            }
            server = servers.next();
        }
    }
    Ok(())
}

/// Answers to earlier requests may come late, or twice.
async fn is_answered(mailbox: &Mailbox, asked: u64) -> Result<bool, Errno> {
    while let Some(message) = mailbox.receive_within(PATIENCE_NS).await? {
        let body = Message::from_bytes(&message.bytes).map(|message| message.body);
        if matches!(body, Some(Body::Ticket { request, .. }) if request == asked) {
            return Ok(true);
        }
    }
    Ok(false)
}
