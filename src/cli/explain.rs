//! `dns-syncd explain`: why a name is what it is.
#![expect(clippy::print_stdout, reason = "printing is what the command is for")]

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use hickory_proto::op::{Edns, Message, Query};
use hickory_proto::rr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};
use tokio_util::sync::CancellationToken;

use super::progress::progress;
use super::{FAILED, Output, StartError, syncer};
use crate::config::Config;
use crate::dns::name::Name;
use crate::fence::Fence;
use crate::plan::explain::explain as put_together;

/// The time for one answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// Octets that an answer over UDP may have: what passes every network unparted.
const PAYLOAD: u16 = 1232;

/// What is to be explained.
#[derive(Clone, Debug, clap::Args)]
pub struct Asked {
    /// The absolute name, with or without its final dot.
    pub name: String,
    /// One record type; without it every one that is declared or stored there.
    #[arg(value_name = "TYPE")]
    pub rtype: Option<String>,
    /// Ask this DNS server too, such as the zone's own.
    #[arg(long, value_name = "ADDR:PORT")]
    pub dns: Option<SocketAddr>,
    /// How to print it.
    #[arg(short, long, value_enum, default_value = "text")]
    pub output: Output,
}

/// Prints what is known of a name, and writes nothing anywhere.
///
/// # Errors
/// If the clients cannot be set up, or the name is none.
pub async fn explain(
    config: &Config,
    asked: &Asked,
    stop: &CancellationToken,
) -> Result<u8, StartError> {
    let wrong =
        |e: crate::dns::name::NameError| StartError::Setup { what: "NAME", why: e.to_string() };
    let name = Name::parse(&asked.name).map_err(wrong)?;
    let syncer = syncer(config, &Fence::default(), stop).await?;
    let shown = progress("looking", &syncer.metrics);
    let planned = syncer.plan().await;
    drop(shown);
    let (snapshot, plan) = match planned {
        Ok(planned) => planned,
        Err(error) => {
            tracing::error!(%error, "nothing is explained: the cluster's state could not be read");
            return Ok(FAILED);
        }
    };
    let only = asked.rtype.as_ref().map(|t| t.to_uppercase());
    let mut explained = put_together(&snapshot, &plan, &syncer.policy, &name, only.as_deref());
    if let Some(server) = asked.dns {
        let mut answers = BTreeMap::new();
        for one in &explained.types {
            answers.insert(one.rtype.clone(), ask(server, &name, &one.rtype).await);
        }
        explained.answer(&answers);
    }
    match asked.output {
        Output::Text => print!("{explained}"),
        Output::Json => println!("{}", serde_json::to_string(&explained).unwrap_or_default()),
    }
    Ok(if plan.blind.is_some() { FAILED } else { 0 })
}

/// What a DNS server answers, or why it does not, as one line.
async fn ask(server: SocketAddr, name: &Name, rtype: &str) -> String {
    let Ok(rtype) = rtype.parse::<rr::RecordType>() else {
        return "not asked: the type is none that is asked for by name".to_owned();
    };
    let Ok(mut question) = rr::Name::from_ascii(name.as_str()) else {
        return "not asked: the name cannot be sent".to_owned();
    };
    question.set_fqdn(true);
    let mut message = Message::query();
    message.add_query(Query::query(question, rtype));
    let mut edns = Edns::new();
    edns.set_max_payload(PAYLOAD);
    message.set_edns(edns);
    match tokio::time::timeout(PATIENCE, exchange(server, &message)).await {
        Err(_) => "no answer: time-out".to_owned(),
        Ok(Err(error)) => format!("no answer: {error}"),
        Ok(Ok(answer)) => said(&answer),
    }
}

/// UDP, and TCP for what does not fit.
async fn exchange(server: SocketAddr, message: &Message) -> std::io::Result<Message> {
    let bytes = message.to_vec().map_err(std::io::Error::other)?;
    let here: SocketAddr =
        if server.is_ipv4() { ([0, 0, 0, 0], 0).into() } else { ([0; 8], 0).into() };
    let socket = UdpSocket::bind(here).await?;
    socket.connect(server).await?;
    socket.send(&bytes).await?;
    let mut buffer = vec![0; usize::from(u16::MAX)];
    loop {
        let length = socket.recv(&mut buffer).await?;
        let answer = Message::from_vec(buffer.get(..length).unwrap_or_default());
        match answer {
            // Somebody else's datagram.
            Ok(answer) if answer.metadata.id != message.metadata.id => {}
            Ok(answer) if !answer.metadata.truncation => return Ok(answer),
            Ok(_) => break,
            Err(error) => return Err(std::io::Error::other(error)),
        }
    }
    let mut stream = TcpStream::connect(server).await?;
    stream.write_u16(u16::try_from(bytes.len()).map_err(std::io::Error::other)?).await?;
    stream.write_all(&bytes).await?;
    let length = usize::from(stream.read_u16().await?);
    let mut buffer = vec![0; length];
    stream.read_exact(&mut buffer).await?;
    Message::from_vec(&buffer).map_err(std::io::Error::other)
}

fn said(answer: &Message) -> String {
    let mut records: Vec<String> = answer
        .answers
        .iter()
        .map(|r| format!("{} {} {}", r.ttl, r.record_type(), r.data))
        .collect();
    records.sort_unstable();
    let whose = if answer.metadata.authoritative { "" } else { ", not authoritative" };
    let code = answer.metadata.response_code;
    if records.is_empty() {
        return format!("no record ({code}{whose})");
    }
    format!("{} ({code}{whose})", records.join(" | "))
}
