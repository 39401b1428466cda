//! The API key at the edges: files that hold what is no key, and answers that show it in JSON's other spellings. What
//! listens is no PowerDNS: it answers every request alike.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use dns_syncd::config::Secret;
use dns_syncd::metrics::Metrics;
use dns_syncd::powerdns::{Client, Error, Key, Limiter, Options};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::support::{install_tls, random};

/// Something that answers with this status and body; the keys that it was sent.
async fn answering(status: u16, body: String) -> (String, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let keys: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = keys.clone();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (read, mut write) = stream.split();
            let mut lines = BufReader::new(read).lines();
            while let Some(line) = lines.next_line().await.unwrap().filter(|l| !l.is_empty()) {
                if let Some((name, key)) = line.split_once(": ")
                    && name.eq_ignore_ascii_case("x-api-key")
                {
                    seen.lock().unwrap().push(key.to_owned());
                }
            }
            let length = body.len();
            let answer = format!(
                "HTTP/1.1 {status} x\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
            );
            write.write_all(answer.as_bytes()).await.unwrap();
        }
    });
    (url, keys)
}

fn client(url: String, key: Key) -> Client {
    install_tls();
    let many = NonZeroU32::new(1000).unwrap();
    let options = Options {
        url,
        server_id: "localhost".to_owned(),
        key,
        request_timeout: Duration::from_secs(10),
        authorities: None,
    };
    let metrics = Arc::new(Metrics::new().unwrap());
    Client::new(options, Limiter::new(many, many, 4), metrics, CancellationToken::new()).unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_no_header_can_carry_is_no_key() {
    let (url, sent) = answering(200, "[]".to_owned()).await;
    let file = std::env::temp_dir().join(format!("dns-syncd-{}", random()));
    let client = client(url, Key::File(PathBuf::from(&file)));
    for wrong in ["two\nlines", "gr\u{fc}n"] {
        std::fs::write(&file, wrong).unwrap();
        let error = client.refresh_key().await.unwrap_err().to_string();
        let told = error.contains(&file.display().to_string()) && error.contains("printable ASCII");
        assert!(told && !error.contains(wrong), "{error}");
    }
    std::fs::write(&file, "good\n").unwrap();
    client.refresh_key().await.unwrap();
    client.list().await.unwrap();
    // As while the file is empty: the key that was taken last is used.
    std::fs::write(&file, "two\nlines").unwrap();
    client.refresh_key().await.unwrap();
    client.list().await.unwrap();
    assert_eq!(*sent.lock().unwrap(), ["good", "good"]);
    std::fs::remove_file(file).unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_json_spells_otherwise_is_not_shown_either() {
    let key = r#"ab/"c\d=="#;
    for (status, body) in [
        (500, r#"{"error": "no ab\/\"c\\d\u003d\u003d here"}"#),
        (500, r#"{"message": "no ab\/\"c\\d\u003d\u003d here"}"#),
        (500, r#"no ab/"c\d== here"#),
    ] {
        let (url, _) = answering(status, body.to_owned()).await;
        let client = client(url, Key::Inline(Secret::new(key.to_owned())));
        client.refresh_key().await.unwrap();
        let Err(Error::Status { text, .. }) = client.list().await else { panic!("{body}") };
        assert!(text.contains("no (secret) here"), "{text}");
    }
}
