{{/* The secrets: value's name, name of the volume and end of the created Secret's name, file in the volume, option that names the
file. */}}
{{- define "dns-syncd.secrets" -}}
- {value: apiKey, volume: api-key, file: key, section: powerdns, option: apiKeyFile, what: the PowerDNS API key}
- {value: nudgeToken, volume: nudge-token, file: token, section: http, option: tokenFile, what: the token for nudges}
- {value: hmacSecret, volume: hmac-secret, file: secret, section: http, option: hmacSecretFile, what: the secret that signs nudges}
- {value: adminToken, volume: admin-token, file: token, section: http, option: adminTokenFile, what: the token of administrators}
{{- end -}}

{{/* Where a secret comes from: the Secret's name, or nothing. (list $ VALUE-NAME SUFFIX) */}}
{{- define "dns-syncd.secretName" -}}
{{- $root := index . 0 -}}
{{- $secret := index $root.Values.secrets (index . 1) -}}
{{- if $secret.existingSecret -}}
{{- $secret.existingSecret -}}
{{- else if $secret.value -}}
{{- printf "%s-%s" (include "dns-syncd.fullname" $root | trunc 50 | trimSuffix "-") (index . 2) -}}
{{- end -}}
{{- end -}}

{{- define "dns-syncd.apiKeySecret" -}}{{ include "dns-syncd.secretName" (list . "apiKey" "api-key") }}{{- end -}}
{{- define "dns-syncd.nudgeTokenSecret" -}}{{ include "dns-syncd.secretName" (list . "nudgeToken" "nudge-token") }}{{- end -}}

{{/* What no schema can say: two values that exclude or need each other. */}}
{{- define "dns-syncd.validate" -}}
{{- $config := .Values.config -}}
{{- $why := "config.ownerId is required: it marks what this daemon wrote, and has no default, because two clusters with one id on the same PowerDNS would delete each other's records. Name the cluster, as in --set config.ownerId=prod-eu" -}}
{{- if not $config.ownerId }}{{ fail $why }}{{ end -}}
{{- range $name, $secret := .Values.secrets -}}
{{- if and $secret.existingSecret $secret.value -}}
{{- fail (printf "secrets.%s: give existingSecret or value, not both" $name) -}}
{{- end -}}
{{- end -}}
{{- $fromEnv := false -}}
{{- range .Values.env -}}
{{- if has .name (list "PDNS_API_KEY" "PDNS_API_KEY_FILE" "DNS_SYNCD_POWERDNS__API_KEY_FILE") }}{{ $fromEnv = true }}{{ end -}}
{{- end -}}
{{- range include "dns-syncd.secrets" . | fromYamlArray -}}
{{- if and (include "dns-syncd.secretName" (list $ .value .volume)) (index $config .section .option) -}}
{{- fail (printf "config.%s.%s and secrets.%s both give %s: leave one empty" .section .option .value .what) -}}
{{- end -}}
{{- end -}}
{{- if not (or (include "dns-syncd.apiKeySecret" .) $config.powerdns.apiKeyFile $fromEnv) -}}
{{- fail "there is no PowerDNS API key: name a Secret that holds it in secrets.apiKey.existingSecret (its key in secrets.apiKey.key), or give the key in secrets.apiKey.value" -}}
{{- end -}}
{{- if and (gt (int .Values.replicas) 1) (not $config.leaderElection.enabled) -}}
{{- fail "replicas: more than one needs config.leaderElection.enabled: without it each of them would write" -}}
{{- end -}}
{{- if and .Values.cleanupHook.purge (eq $config.policy.deletes "never") -}}
{{- fail "cleanupHook.purge: config.policy.deletes is never: nothing may be deleted" -}}
{{- end -}}
{{- if and (eq $config.policy.orphanZones "delete") $config.namespaces -}}
{{- fail "config.policy.orphanZones: delete needs an empty config.namespaces: a zone of a namespace that is not read looks like an orphan" -}}
{{- end -}}
{{- end -}}

{{/* The configuration file: what is written in config, and where the secrets are mounted. */}}
{{- define "dns-syncd.config" -}}
{{- $config := deepCopy .Values.config -}}
{{- range include "dns-syncd.secrets" . | fromYamlArray -}}
{{- if include "dns-syncd.secretName" (list $ .value .volume) -}}
{{- $_ := set (index $config .section) .option (printf "/etc/dns-syncd/%s/%s" .volume .file) -}}
{{- end -}}
{{- end -}}
{{- toYaml $config -}}
{{- end -}}

{{- define "dns-syncd.port" -}}
{{- regexFind "[0-9]+$" .Values.config.http.listen -}}
{{- end -}}
