package main

func randomTemplates(seed int64, count int) []string { return nil }
