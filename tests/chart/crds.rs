//! The CRDs of the chart are what the binary prints.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::helm::{NEEDED, file, of_kind, template};

/// What `dns-syncd crds` prints, one text a document.
fn printed(immutable: bool) -> Vec<String> {
    let flags = if immutable { vec!["--immutable"] } else { vec![] };
    let mut command = Command::new(env!("CARGO_BIN_EXE_dns-syncd"));
    let output = command.arg("crds").args(flags).env_clear().output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    text.split("---\n").map(str::to_owned).collect()
}

/// The template of a CRD: its text, with the lines that only the immutable one has in a condition, and labels and
/// annotations as every object of the chart has them.
fn template_of(plain: &str, immutable: &str) -> String {
    let (head, rest) = plain.split_once("metadata:\n").unwrap();
    let (metadata, spec) = rest.split_once("spec:\n").unwrap();
    let mut own = String::from("dict");
    let mut names = Vec::new();
    for line in metadata.lines() {
        match line.strip_prefix("    ").and_then(|annotation| annotation.split_once(": ")) {
            Some((key, value)) => own = format!("{own} {key:?} {value:?}"),
            None if line.trim() == "annotations:" => {}
            None => names.push(line),
        }
    }
    let keep = "{{ $_ := set $own \"helm.sh/resource-policy\" \"keep\" }}";
    let (_, more) = immutable.split_once("spec:\n").unwrap();
    [
        "{{- /* Written by tests/chart/crds.rs from what `dns-syncd crds` prints. */}}",
        "{{- if .Values.crds.enabled }}",
        head.trim_end(),
        "metadata:",
        &names.join("\n"),
        &format!("  {{{{- $own := {own} }}}}"),
        &format!("  {{{{- if .Values.crds.keep }}}}{keep}{{{{ end }}}}"),
        "  {{- include \"dns-syncd.labelsAndAnnotations\" (list . dict $own) | nindent 2 }}",
        "spec:",
        &conditional(spec, more).join("\n"),
        "{{- end }}\n",
    ]
    .join("\n")
}

/// The lines of `more`, those in a condition that `spec` does not have.
fn conditional<'a>(spec: &'a str, more: &'a str) -> Vec<&'a str> {
    let mut out = Vec::new();
    let mut more = more.lines().peekable();
    for line in spec.lines() {
        let before = out.len();
        while let Some(added) = more.next_if(|next| *next != line) {
            out.push(added);
        }
        if out.len() > before {
            out.insert(before, "{{- if .Values.crds.immutable }}");
            out.push("{{- end }}");
        }
        out.extend(more.next());
    }
    out
}

#[test]
fn templates_are_what_the_binary_prints() {
    let fresh = Path::new(env!("CARGO_TARGET_TMPDIR")).join("chart-crds");
    fs::create_dir_all(&fresh).unwrap();
    let mut stale = Vec::new();
    for (plain, immutable) in printed(false).iter().zip(printed(true)) {
        let crd: Value = serde_saphyr::from_str(plain).unwrap();
        let name = format!("{}.yaml", crd["spec"]["names"]["plural"].as_str().unwrap());
        let text = template_of(plain, &immutable);
        fs::write(fresh.join(&name), &text).unwrap();
        let path = format!("templates/crds/{name}");
        if !crate::helm::chart().join(&path).exists() || file(&path) != text {
            stale.push(name);
        }
    }
    assert!(
        stale.is_empty(),
        "{stale:?} are not what `dns-syncd crds` prints; to take them over: \
         cp {}/*.yaml charts/dns-syncd/templates/crds/",
        fresh.display()
    );
}

/// Without what the chart adds.
fn bare(crd: &Value) -> Value {
    let mut crd = crd.clone();
    let metadata = crd["metadata"].as_object_mut().unwrap();
    metadata.remove("labels");
    metadata["annotations"].as_object_mut().unwrap().remove("helm.sh/resource-policy");
    crd
}

#[test]
fn the_rendered_crds_are_what_the_binary_prints() {
    for immutable in [false, true] {
        let set = format!("crds.immutable={immutable}");
        let documents = template("dns", &[&NEEDED[..], &["--set", &set]].concat());
        let rendered: Vec<Value> = of_kind(&documents, "CustomResourceDefinition")
            .into_iter()
            .inspect(|crd| {
                assert_eq!(crd["metadata"]["annotations"]["helm.sh/resource-policy"], "keep");
                assert_eq!(crd["metadata"]["labels"]["app.kubernetes.io/managed-by"], "Helm");
            })
            .map(bare)
            .collect();
        let mut expected: Vec<Value> =
            printed(immutable).iter().map(|text| serde_saphyr::from_str(text).unwrap()).collect();
        let name = |crd: &Value| crd["metadata"]["name"].as_str().unwrap().to_owned();
        expected.sort_by_key(name);
        let mut rendered = rendered;
        rendered.sort_by_key(name);
        assert_eq!(rendered, expected, "immutable: {immutable}");
    }
}

#[test]
fn crds_go_with_the_release_only_if_they_may_and_are_left_out_where_they_exist() {
    let documents = template("dns", &[&NEEDED[..], &["--set", "crds.keep=false"]].concat());
    for crd in of_kind(&documents, "CustomResourceDefinition") {
        assert!(crd["metadata"]["annotations"].get("helm.sh/resource-policy").is_none(), "{crd}");
    }
    let documents = template("dns", &[&NEEDED[..], &["--set", "crds.enabled=false"]].concat());
    assert!(of_kind(&documents, "CustomResourceDefinition").is_empty());
}
