# Reads what a command writes to standard error, and prints why it ended: the error file of torchrun, else the first traceback,
# else the last lines; at most 3,000 bytes, without the values of Secrets.
##
## For mawk, gawk and busybox's awk in the C locale, where each byte is a character.

function add_secret(value,   i) {
  if (length(value) < 6) return
  for (i = ++secrets; i > 1 && length(secret[i - 1]) < length(value); i--) secret[i] = secret[i - 1]
  secret[i] = value
}

function mask(text,   i, at, done) {
  for (i = 1; i <= secrets; i++) {
    done = ""
    while (at = index(text, secret[i])) {
      done = done substr(text, 1, at - 1) "***"
      text = substr(text, at + length(secret[i]))
    }
    text = done text
  }
  return text
}

# no line is longer than 1,000 bytes, and no character of UTF-8 is cut
function cut(text,   end) {
  if (length(text) <= 1000) return text
  for (end = 997; end && index(continuing, substr(text, end + 1, 1)); end--);
  return substr(text, 1, end) "..."
}

# of {"message": {"extraInfo": {"py_callstack": "..."}}}
function error_file(   text, part, mark, done) {
  while ((getline part < file) > 0) text = text part
  if (!match(text, /"py_callstack": *"/)) return ""
  text = substr(text, RSTART + RLENGTH)
  while (match(text, /["\\]/) && substr(text, RSTART, 1) != "\"") {
    mark = substr(text, RSTART + 1, 1)
    done = done substr(text, 1, RSTART - 1) (mark == "n" ? "\n" : mark == "t" ? "\t" : mark == "u" ? "\\u" : mark)
    text = substr(text, RSTART + 2)
  }
  done = done substr(text, 1, RSTART - 1)
  sub(/\n+$/, "", done)
  return done
}

function add(text) { trace[++size] = text }

BEGIN {
  head = "Traceback (most recent call last):"
  last = 20
  piece = 8192
  ## A command that has gone on for more lines than this has handled the error.
  far = 50
  for (i = 128; i < 192; i++) continuing = continuing sprintf("%c", i)
  count = split(ENVIRON["TRAINFORM_MASKED"], names, " ")
  for (i = 1; i <= count; i++) {
    value = ENVIRON[names[i]]
    add_secret(value)
    parts = split(value, part, /[\r\n]+/)
    for (j = 1; j <= parts; j++) add_secret(part[j])
  }
}

## Of a line in several pieces only the first is read: a secret at the border would not be found.
{ continues = full; full = length($0) == piece }
continues { next }

# torchrun reports the end of a process in 40 lines, and may then start it again
/^E[0-9].* failed \(exitcode: -?[0-9]+\) local_rank: / { reports = 1 }
/ will restart worker group/ { reports = 0 }
$0 != "" && !reports { lines[seen++ % last] = $0 }

# torchrun's report of the rank that failed first
/Root Cause \(first observed failure\)/ && !rooted { rooted = 1 }
rooted == 1 && /^ *(rank|exitcode) +:/ {
  part_of_root = $0
  sub(/^ */, "", part_of_root)
  sub(/ +:/, "", part_of_root)
  root = root (root == "" ? "torchrun: " : ", ") part_of_root
}
rooted == 1 && /^=+$/ { rooted = 2 }

# frames and errors come from other processes, and after the traceback
!/^(    |\t|  File |  \[)|^\[rank[0-9]+\]:? *[[ \t]|^[EWF][0-9]|^frame #|Traceback/ &&
  !/^(\[rank[0-9]+\]: )?[A-Za-z_][A-Za-z0-9_.]*(Error|Exception)/ { since++ }

(at = index($0, head)) && (!size || since > far) {
  size = since = 0
  prefix = substr($0, 1, at - 1)
  add(head)
  state = "frames"
  next
}
state != "" {
  ## Before a traceback stands the mark of a process ("[rank0]: "), or else a line that had not ended.
  if (size == 1 && /^  File "/) prefix = ""
  if (substr($0, 1, length(prefix)) != prefix) next
  text = substr($0, length(prefix) + 1)
  if (state == "frames") {
    if (text ~ /^[ \t]/) add(text)
    else if (text ~ /^[A-Za-z_][A-Za-z0-9_.]*(:|$)/) {
      add(text)
      state = "error"
      more = 0
      ## torchrun's own, of which its report says more
      if (text ~ /ChildFailedError/) { size = 0; state = "" }
    }
  } else if (text ~ /^(During handling of the above exception|The above exception was the direct cause)/) {
    add(text)
    state = "chained"
  } else if (state == "chained") {
    if (text == head) { add(text); state = "frames" }
  } else if (text != "") {
    ## the message goes on
    if (more++ < 10 && (prefix != "" || text ~ /^[ \t]/)) add(text)
    else state = ""
  }
}

END {
  text = error_file()
  if (text == "" && size > 1 && since <= far) for (i = 1; i <= size; i++) text = text (i > 1 ? "\n" : "") trace[i]
  if (text == "") for (i = (seen > last ? seen - last : 0); i < seen; i++) text = text (text == "" ? "" : "\n") lines[i % last]
  count = split(mask(text), line, "\n")
  left = 3000 - length(root) - 1
  for (i = count; i && left >= 0; i--) {
    line[i] = cut(line[i])
    left -= length(line[i]) + 1
  }
  if (root != "") print root
  for (i += (left < 0 ? 2 : 1); i <= count; i++) print line[i]
}
