//! DNS questions as a resolver would ask them: UDP, then TCP if the answer is truncated.
//!
//! Contents come in the presentation form of RFC 1035 and RFC 9460, strings quoted, names absolute: what PowerDNS' API shows too.

use std::fmt::Write;
use std::net::SocketAddr;
use std::time::Duration;

use hickory_proto::op::{Edns, Message, Query, ResponseCode};
use hickory_proto::rr::rdata::svcb::{SVCB, SvcParamKey, SvcParamValue};
use hickory_proto::rr::{Name, RData, Record, RecordType};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UdpSocket};

/// What came back.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The response code; `None`: no answer in time, or nobody listens.
    pub rcode: Option<ResponseCode>,
    /// The contents of the records of the type that was asked for, sorted.
    pub answers: Vec<String>,
    /// The whole answer section, aliases included.
    pub records: Vec<Record>,
    /// The AA flag.
    pub authoritative: bool,
    /// Whether it took TCP.
    pub tcp: bool,
}

impl Answer {
    /// The name does not exist. A timeout, or a refusal, is no proof of that.
    pub fn is_nxdomain(&self) -> bool {
        self.rcode == Some(ResponseCode::NXDomain)
    }

    /// The name exists, without records of this type.
    pub fn is_nodata(&self) -> bool {
        self.rcode == Some(ResponseCode::NoError) && self.records.is_empty()
    }

    /// No answer came.
    pub fn is_timeout(&self) -> bool {
        self.rcode.is_none()
    }

    /// The TTL of the first record of the answer section.
    pub fn ttl(&self) -> Option<u32> {
        self.records.first().map(|record| record.ttl)
    }
}

/// Asks the server at `addr`; three tries of a second each.
pub async fn query(addr: SocketAddr, name: &str, rtype: &str) -> Answer {
    let rtype: RecordType = rtype.parse().expect("a record type");
    let mut name = Name::from_ascii(name).expect("a domain name");
    name.set_fqdn(true);
    let mut question = Message::query();
    question.add_query(Query::query(name, rtype));
    let mut edns = Edns::new();
    edns.set_max_payload(1232);
    question.set_edns(edns);
    for _ in 0..3 {
        if let Ok(Some(answer)) =
            tokio::time::timeout(Duration::from_secs(1), ask(addr, &question)).await
        {
            return read(&answer.0, answer.1, rtype);
        }
    }
    Answer {
        rcode: None,
        answers: Vec::new(),
        records: Vec::new(),
        authoritative: false,
        tcp: false,
    }
}

async fn ask(addr: SocketAddr, question: &Message) -> Option<(Message, bool)> {
    let bytes = question.to_vec().unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    socket.connect(addr).await.ok()?;
    socket.send(&bytes).await.ok()?;
    let mut buffer = vec![0; 4096];
    let length = socket.recv(&mut buffer).await.ok()?;
    let answer = Message::from_vec(&buffer[..length])
        .ok()
        .filter(|answer| answer.metadata.id == question.metadata.id)?;
    if !answer.metadata.truncation {
        return Some((answer, false));
    }
    let mut stream = TcpStream::connect(addr).await.ok()?;
    stream.write_u16(u16::try_from(bytes.len()).unwrap()).await.ok()?;
    stream.write_all(&bytes).await.ok()?;
    let mut buffer = vec![0; usize::from(stream.read_u16().await.ok()?)];
    stream.read_exact(&mut buffer).await.ok()?;
    Some((Message::from_vec(&buffer).ok()?, true))
}

fn read(message: &Message, tcp: bool, rtype: RecordType) -> Answer {
    let of_type = message.answers.iter().filter(|record| record.record_type() == rtype);
    let mut answers: Vec<String> = of_type.map(|record| present(&record.data)).collect();
    answers.sort();
    Answer {
        rcode: Some(message.metadata.response_code),
        answers,
        records: message.answers.clone(),
        authoritative: message.metadata.authoritative,
        tcp,
    }
}

/// The presentation form; hickory's own leaves out quotes and escapes in strings and adds commas to lists.
#[allow(
    clippy::wildcard_enum_match_arm,
    reason = "hickory prints the other types as they are written"
)]
fn present(data: &RData) -> String {
    match data {
        RData::TXT(txt) => {
            txt.txt_data.iter().map(|string| quote(string)).collect::<Vec<_>>().join(" ")
        }
        RData::CAA(caa) => format!("{} {} {}", caa.flags(), caa.tag, quote(&caa.value)),
        RData::HTTPS(https) => service(&https.0),
        RData::SVCB(svcb) => service(svcb),
        other => other.to_string(),
    }
}

fn quote(bytes: &[u8]) -> String {
    let escaped = bytes.iter().map(|byte| match byte {
        b'"' | b'\\' => format!("\\{}", char::from(*byte)),
        b' '..=b'~' => char::from(*byte).to_string(),
        other => format!("\\{other:03}"),
    });
    format!("\"{}\"", escaped.collect::<String>())
}

fn service(svcb: &SVCB) -> String {
    let mut text = format!("{} {}", svcb.svc_priority, svcb.target_name);
    for (key, value) in &svcb.svc_params {
        let key = match key {
            SvcParamKey::Unknown(number) => format!("key{number}"),
            SvcParamKey::Mandatory
            | SvcParamKey::Alpn
            | SvcParamKey::NoDefaultAlpn
            | SvcParamKey::Port
            | SvcParamKey::Ipv4Hint
            | SvcParamKey::EchConfigList
            | SvcParamKey::Ipv6Hint
            | SvcParamKey::Key(_)
            | SvcParamKey::Key65535 => key.to_string(),
        };
        let value = match value {
            SvcParamValue::NoDefaultAlpn => String::new(),
            SvcParamValue::Unknown(bytes) => format!("={}", quote(&bytes.0)),
            SvcParamValue::Mandatory(_)
            | SvcParamValue::Alpn(_)
            | SvcParamValue::Port(_)
            | SvcParamValue::Ipv4Hint(_)
            | SvcParamValue::EchConfigList(_)
            | SvcParamValue::Ipv6Hint(_) => format!("={}", value.to_string().trim_end_matches(',')),
        };
        write!(text, " {key}{value}").unwrap();
    }
    text
}
