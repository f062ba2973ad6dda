#!/bin/sh
# For init containers of operators, which wait for a name with the `nslookup` of Alpine: Debian's busybox fails where one
# of the search domains has no such name.
exec getent hosts "$1"
