// Package config lets any subcommand take its flags from a YAML file.
//
// The one idea: a flag is the definition of a setting, and the file is another way to say it. Attach adds --config to a cobra
// command; before the command runs, every key of the file sets the flag of the same name, unless the flag was given on the command line. The
// flag's own parser reads the value, so a file cannot say what a flag cannot.
//
//	# orrery api --config api.yaml
//	listen: 127.0.0.1:7443
//	store: [127.0.0.1:2379, 127.0.0.1:2380]
//	tls:
//	  cert: /etc/orrery/api.crt     # the flag --tls-cert
//
// config.go is all there is.
package config
