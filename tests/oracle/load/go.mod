module kzero.test/oracle/load

go 1.26.0

require helm.sh/helm/v3 v3.22.0

require (
	github.com/Masterminds/semver/v3 v3.5.0 // indirect
	github.com/pkg/errors v0.9.1 // indirect
	go.yaml.in/yaml/v2 v2.4.4 // indirect
	sigs.k8s.io/yaml v1.6.0 // indirect
)
