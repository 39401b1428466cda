//! Who may call. Every comparison with a secret takes the same time, whatever was given.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use data_encoding::HEXLOWER_PERMISSIVE;
use ring::hmac;
use subtle::ConstantTimeEq;

use super::{Access, Admin, REQUESTS_AT_ONCE, REQUESTS_PER_SECOND, error};

/// The signature of the body, as git forges send it.
const SIGNATURE: &str = "X-Hub-Signature-256";

/// What a caller may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Role {
    /// Ask for a pass.
    Nudge,
    /// Also release holds and see status and plan.
    Admin,
}

/// Refuses requests above the rate (429), so that neither passes nor secrets can be hammered at, and those beside too many
/// that wait, so that the listener has connections left for the probes.
pub(super) async fn not_too_often(
    State(admin): State<Arc<Admin>>,
    request: Request,
    next: Next,
) -> Response {
    let limiter = &admin.limiter;
    let message = match (limiter.rate.check(), limiter.waiting.try_acquire()) {
        (Ok(()), Ok(_place)) => return next.run(request).await,
        (Ok(()), Err(_)) => format!("{REQUESTS_AT_ONCE} requests wait for their answers"),
        (Err(_), _) => format!("more than {REQUESTS_PER_SECOND} requests a second"),
    };
    let mut answer = error(StatusCode::TOO_MANY_REQUESTS, &message);
    answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
    answer
}

impl Access {
    /// Finds out what the caller may do, or answers: 403 with the remedy where no secret would allow it, 401 where the
    /// given one does not.
    #[expect(clippy::result_large_err, reason = "the error is the answer itself")]
    pub(super) fn authorize(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        needed: Role,
    ) -> Result<Role, Response> {
        let admin = read("http.adminTokenFile", self.admin.as_ref());
        let token = read("http.tokenFile", self.token.as_ref());
        let key = read("http.hmacSecretFile", self.hmac.as_ref());
        let bearer = headers.get(header::AUTHORIZATION).and_then(|v| v.to_str().ok());
        // The scheme's case does not matter (RFC 9110 §11.1).
        let bearer = bearer.and_then(|v| v.split_once(' '));
        let bearer =
            bearer.filter(|(s, _)| s.eq_ignore_ascii_case("Bearer")).map(|(_, token)| token);
        let same = |secret: &Option<Vec<u8>>| match (bearer, secret) {
            (Some(given), Some(secret)) => equal(given.as_bytes(), secret),
            (None, _) | (_, None) => false,
        };
        let signed = || key.as_ref().is_some_and(|key| verifies(headers, key, body));
        let role = if same(&admin) {
            Some(Role::Admin)
        } else if same(&token) || signed() || (self.anonymous && bearer.is_none()) {
            Some(Role::Nudge)
        } else {
            None
        };
        let nobody = match needed {
            Role::Admin => admin.is_none(),
            Role::Nudge => admin.is_none() && token.is_none() && key.is_none() && !self.anonymous,
        };
        match role {
            Some(role) if role >= needed => Ok(role),
            _ if nobody => Err(error(StatusCode::FORBIDDEN, self.remedy(needed))),
            Some(_) => {
                let message = "this needs the token of http.adminTokenFile";
                Err(error(StatusCode::FORBIDDEN, message))
            }
            None => Err(unauthorized()),
        }
    }

    fn remedy(&self, needed: Role) -> &'static str {
        let files = [&self.admin, &self.token, &self.hmac].into_iter();
        match needed {
            Role::Admin if self.admin.is_some() => {
                "this is off: the file of http.adminTokenFile is unreadable or empty"
            }
            Role::Admin => "this is off: set http.adminTokenFile to a file with a bearer token",
            Role::Nudge if files.flatten().next().is_some() => {
                "nudges are off: the files of http.tokenFile, http.hmacSecretFile and http.adminTokenFile are unreadable, empty or not set"
            }
            Role::Nudge => {
                "nudges are off: set http.tokenFile to a file with a bearer token, or http.hmacSecretFile to one with the secret that signs bodies"
            }
        }
    }
}

fn unauthorized() -> Response {
    let message = "a bearer token, or the body's signature in X-Hub-Signature-256, is needed";
    let mut answer = error(StatusCode::UNAUTHORIZED, message);
    answer.headers_mut().insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    answer
}

/// The secret in a file, without the white space around it; `None` if there is none.
fn read(option: &str, path: Option<&PathBuf>) -> Option<Vec<u8>> {
    let path: &Path = path?;
    let secret = std::fs::read(path).unwrap_or_default();
    let secret = secret.trim_ascii();
    if secret.is_empty() {
        tracing::error!(path = %path.display(), "{option} is unreadable or empty");
        return None;
    }
    Some(secret.to_vec())
}

/// Whether two texts are the same, in a time that tells neither what the secret holds nor how long it is: their digests are
/// compared.
fn equal(given: &[u8], secret: &[u8]) -> bool {
    let digest = |text: &[u8]| ring::digest::digest(&ring::digest::SHA256, text);
    digest(given).as_ref().ct_eq(digest(secret).as_ref()).into()
}

/// Whether the header holds the HMAC-SHA-256 of the body (RFC 2104), as `sha256=` and hexadecimal digits.
fn verifies(headers: &HeaderMap, key: &[u8], body: &[u8]) -> bool {
    let given = headers.get(SIGNATURE).and_then(|v| v.to_str().ok());
    let given = given.and_then(|v| v.strip_prefix("sha256="));
    let Some(given) = given.and_then(|v| HEXLOWER_PERMISSIVE.decode(v.as_bytes()).ok()) else {
        return false;
    };
    hmac::verify(&hmac::Key::new(hmac::HMAC_SHA256, key), body, &given).is_ok()
}
