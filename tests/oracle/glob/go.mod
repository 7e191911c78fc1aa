module kzero.test/oracle/glob

go 1.26.0

require github.com/gobwas/glob v0.2.3
