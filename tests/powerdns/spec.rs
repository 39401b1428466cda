//! From contents back to the record set that declares them: each type's fields, cut out of the presentation form.

use dns_syncd::dns::rdata::{Dialect, Rdata, Version};
use dns_syncd::dns::rrset::{Contents, RecordType};
use serde_json::{Map, Value, json};

/// The entries of a record set of one name.
pub(crate) fn entries(name: &str, contents: &Contents) -> Value {
    let each = contents.values().iter().map(|value| {
        let mut entry = Map::new();
        entry.insert("name".to_owned(), name.into());
        entry.insert("ttl".to_owned(), contents.ttl().get().into());
        let field = contents.rtype().as_str().to_ascii_lowercase();
        entry.insert(field, fields(value));
        Value::Object(entry)
    });
    each.collect()
}

/// An object says the same whatever the server is: quotes and backslashes are escaped once.
fn fields(value: &Rdata) -> Value {
    let text = value.print(Dialect::of(Version { major: 4, minor: 7, patch: 3 }));
    let words = words(&text);
    let word = |at: usize| words[at].clone();
    let number = |at: usize| words[at].parse::<u32>().unwrap();
    match value.rtype() {
        RecordType::A
        | RecordType::Aaaa
        | RecordType::Alias
        | RecordType::Cname
        | RecordType::Ns
        | RecordType::Ptr
        | RecordType::Txt => json!({"content": text}),
        RecordType::Mx => json!({"preference": number(0), "exchange": word(1)}),
        RecordType::Srv => json!({
            "priority": number(0), "weight": number(1), "port": number(2), "target": word(3),
        }),
        RecordType::Caa => {
            let value = text.splitn(3, ' ').last();
            json!({"flag": number(0), "tag": word(1), "value": value})
        }
        RecordType::Tlsa => json!({
            "usage": number(0), "selector": number(1), "matchingType": number(2), "certData": word(3),
        }),
        RecordType::Soa => json!({
            "mname": word(0), "rname": word(1), "serial": number(2), "refresh": number(3),
            "retry": number(4), "expire": number(5), "ttl": number(6),
        }),
        RecordType::Https | RecordType::Svcb => {
            let params = words.iter().skip(2).map(|param| {
                let (key, value) = param.split_once('=').unwrap_or((param, ""));
                // An entry's value is taken as it stands unless it is quoted; this one has escapes.
                let bare = !value.is_empty() && !value.starts_with('"');
                let value = if bare { format!("\"{value}\"") } else { value.to_owned() };
                (key.to_owned(), Value::from(value))
            });
            let params: Map<String, Value> = params.collect();
            json!({"priority": number(0), "target": word(1), "params": params})
        }
    }
}

/// The words between blanks; the quotes of a parameter's value hold it together.
fn words(text: &str) -> Vec<String> {
    let mut out = vec![String::new()];
    let mut quoted = false;
    let mut before = ' ';
    for c in text.chars() {
        if c == ' ' && !quoted {
            out.push(String::new());
        } else {
            // In a name a quote is a letter like any other, and a backslash hides what follows it.
            quoted = if quoted { c != '"' || before == '\\' } else { c == '"' && before == '=' };
            out.last_mut().unwrap().push(c);
        }
        before = if before == '\\' && c == '\\' { ' ' } else { c };
    }
    out
}
