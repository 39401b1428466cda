{{/* What the objects of this release are called. 63 characters are what a label's value, and so the name of a Service, may have. */}}
{{- define "dns-syncd.fullname" -}}
{{- $name := default .Chart.Name .Values.nameOverride -}}
{{- $whole := contains $name .Release.Name | ternary .Release.Name (printf "%s-%s" .Release.Name $name) -}}
{{- default $whole .Values.fullnameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{- define "dns-syncd.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride -}}
{{- end -}}

{{/* For objects that releases of other namespaces may have too: in the whole cluster, and in the namespaces that are read. */}}
{{- define "dns-syncd.globalName" -}}
{{- printf "%s:%s" (include "dns-syncd.namespace" .) (include "dns-syncd.fullname" .) -}}
{{- end -}}

{{- define "dns-syncd.serviceAccountName" -}}
{{- default (.Values.serviceAccount.create | ternary (include "dns-syncd.fullname" .) "default") .Values.serviceAccount.name -}}
{{- end -}}

{{/* What never changes, so that it can select. */}}
{{- define "dns-syncd.selectorLabels" -}}
app.kubernetes.io/name: {{ default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "dns-syncd.labels" -}}
{{- $own := include "dns-syncd.selectorLabels" . | fromYaml -}}
{{- $_ := set $own "app.kubernetes.io/version" .Chart.AppVersion -}}
{{- $_ := set $own "app.kubernetes.io/managed-by" .Release.Service -}}
{{- $_ := set $own "helm.sh/chart" (printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_") -}}
{{- toYaml (mergeOverwrite (deepCopy .Values.commonLabels) $own) -}}
{{- end -}}

{{/* The labels and annotations of an object: (list $ OWN-LABELS OWN-ANNOTATIONS). */}}
{{- define "dns-syncd.labelsAndAnnotations" -}}
{{- $root := index . 0 -}}
labels:
  {{- toYaml (mergeOverwrite (deepCopy (index . 1)) (include "dns-syncd.labels" $root | fromYaml)) | nindent 2 }}
{{- with mergeOverwrite (deepCopy $root.Values.commonAnnotations) (index . 2) }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "dns-syncd.image" -}}
{{- $tag := default .Chart.AppVersion .Values.image.tag | printf ":%s" -}}
{{- printf "%s%s" .Values.image.repository (empty .Values.image.digest | ternary $tag (printf "@%s" .Values.image.digest)) | quote -}}
{{- end -}}
