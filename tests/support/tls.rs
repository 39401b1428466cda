//! TLS in front of a real server: an authority of one's own, and what speaks TLS with its certificate and forwards the bytes.

use std::process::Command;
use std::sync::Arc;

use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

use super::{Folder, install_tls};

fn openssl(folder: &Folder, arguments: &str) {
    let mut command = Command::new("openssl");
    command.args(arguments.split(' ')).current_dir(folder.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Makes the certificate of an authority, `NAME.pem` in the folder, with its key.
pub fn authority(folder: &Folder, name: &str) {
    let what = format!("-subj /CN={name} -keyout {name}.key -out {name}.pem");
    openssl(folder, &format!("req -x509 -newkey rsa:2048 -nodes -days 1 {what}"));
}

/// Makes a certificate for localhost, `server.pem`, that this authority has signed, with its key.
pub fn certificate(folder: &Folder, authority: &str) {
    folder.write("names", "subjectAltName=DNS:localhost\nbasicConstraints=CA:FALSE\n");
    openssl(folder, "req -newkey rsa:2048 -nodes -subj /CN=s -keyout server.key -out server.csr");
    let by = format!("-CA {authority}.pem -CAkey {authority}.key -CAcreateserial -extfile names");
    openssl(folder, &format!("x509 -req -in server.csr -out server.pem {by} -days 1"));
}

/// Speaks TLS with the folder's `server.pem` and forwards to the address; gives the URL. It ends with the runtime.
pub async fn in_front_of(folder: &Folder, server: &str) -> String {
    install_tls();
    let chain = CertificateDer::pem_file_iter(folder.path().join("server.pem")).unwrap();
    let key = PrivateKeyDer::from_pem_file(folder.path().join("server.key")).unwrap();
    let config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(chain.map(Result::unwrap).collect(), key)
        .unwrap();
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = server.to_owned();
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (acceptor, server) = (acceptor.clone(), server.clone());
            tokio::spawn(async move {
                let (tls, plain) =
                    (acceptor.accept(stream).await, TcpStream::connect(server).await);
                if let (Ok(mut tls), Ok(mut plain)) = (tls, plain) {
                    // How either side ends is for the client to judge.
                    let _ = tokio::io::copy_bidirectional(&mut tls, &mut plain).await;
                }
            });
        }
    });
    format!("https://localhost:{port}")
}
