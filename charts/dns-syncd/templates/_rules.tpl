{{/* Each verb is one that the daemon uses, and no other: tests/chart/rights.rs compares them with its requests. */}}
{{- define "dns-syncd.rules.objects" }}
- apiGroups: [dns.networking.miloapis.com]
  resources: [dnsrecordsets]
  # get: one live look before a record goes whose object is not on the list. delete: with their DNSZone; some clusters
  # also ask for it before owner references may change.
  verbs: [list, get, patch, delete]
- apiGroups: [dns.networking.miloapis.com]
  resources: [dnszones]
  # get: whether there is one that a nudge names and no pass has seen yet.
  verbs: [list, get, patch]
- apiGroups: [dns.networking.miloapis.com]
  resources: [dnsrecordsets/status, dnszones/status]
  verbs: [patch]
- apiGroups: [events.k8s.io]
  resources: [events]
  verbs: [create]
{{- end }}
{{- define "dns-syncd.rules.cluster" }}
- apiGroups: [dns.networking.miloapis.com]
  resources: [dnszoneclasses]
  verbs: [list]
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  # Whether one of them is being deleted: its objects' end then deletes no records.
  resourceNames:
    - dnsrecordsets.dns.networking.miloapis.com
    - dnszoneclasses.dns.networking.miloapis.com
    - dnszones.dns.networking.miloapis.com
  verbs: [get]
{{- end }}
{{- define "dns-syncd.rules.lease" }}
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  # What does not exist yet has no name by which it could be granted.
  verbs: [create]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  resourceNames: [{{ .Values.config.leaderElection.leaseName }}]
  verbs: [get, update]
{{- end }}
{{- define "dns-syncd.rules.events" }}
- apiGroups: [events.k8s.io]
  resources: [events]
  # Of the Lease, where no other object is left: a zone whose DNSZone is gone. get: whether that is told already.
  verbs: [get, create]
{{- end }}
{{/* The same of the command `cleanup`: tests/chart/cleanup.rs. */}}
{{- define "dns-syncd.rules.cleanup.objects" }}
- apiGroups: [dns.networking.miloapis.com]
  resources: [dnsrecordsets, dnszones]
  verbs: [list, patch]
{{- end }}
{{- define "dns-syncd.rules.cleanup.cluster" }}
- apiGroups: [dns.networking.miloapis.com]
  resources: [dnszoneclasses]
  verbs: [list]
{{- end }}
{{- define "dns-syncd.subjects" }}
subjects:
  - kind: ServiceAccount
    name: {{ include "dns-syncd.serviceAccountName" . }}
    namespace: {{ include "dns-syncd.namespace" . }}
{{- end }}
