#!/bin/sh
# A planner in ten lines: it logs in as ann. Each line in is a request, each line out is a plan.
id() { printf %s "$request" | grep -o "\"id\":\"c[0-9]*\",\"role\":\"$1\",\"type\":\"[a-z]*\",\"label\":\"$2\"" | cut -d '"' -f 4; }
while read -r request; do
    case $request in
    *'"step":{"type":"click"'*) steps='{"type":"finish"}' ;;
    *) steps='{"type":"type","targetRef":"'$(id textbox Email)'","text":"ann"},
        {"type":"type","targetRef":"'$(id textbox Password)'","text":"correct-horse"},
        {"type":"click","targetRef":"'$(id button "Log in")'"}' ;;
    esac
    echo '{"version":"1.0","steps":['$steps']}'
done
