#!/bin/sh
# Rendered by trainform: one commit of a repository into an empty volume of the pod. It may run again, after a restart of the pod.
##
## Only the commit is fetched where the server gives single commits, else all branches and tags. The address may come
## from a Secret, so that nobody has checked it before: git gets it after `--`. The path stands in variables alone,
## because a shell and ssh would expand it. Nothing that is printed may show a password.
set -eu
repository=$TRAINFORM_GIT_REPOSITORY commit=$TRAINFORM_GIT_COMMIT
say() { printf 'trainform: %s\n' "$*"; }
fail() { say "$@" >&2; exit 1; }
# shellcheck disable=SC2016 ## the backquotes are those of the message
command -v git >/dev/null || fail 'the image has no git; name one that has it in `image:` of the step'

# A password in the address stays out of the log, wherever it stands: before the host, before an `@` further on, since nobody has
# escaped its `/`, or in the query.
hide() {
  printf '%s\n' "$1" | sed -e 's|[?#][^[:space:]]*||g' -e 's|://[^[:space:]/]*@|://|g' -e 's|[^[:space:]]*:[^[:space:]]*@|***@|g'
}
case $repository in
*[[:space:][:cntrl:]]*)
  fail 'the address of the repository holds a space or a line break; does the value of a Secret end with one?'
  ;;
*://*@*)
  scheme=${repository%%://*} authority=${repository#*://} user=
  authority=${authority%%/*}
  case $authority in
  *@*) user=${authority%@*} ;;
  '['*) ;; # a number of IPv6
  *:*[!0-9]*) fail 'the password in the address of the repository is not escaped: write %2F for /' ;;
  esac
  case $scheme:$user in
  http:* | https:*) ;;
  *:*:*) fail "the address of the repository holds a password, and $scheme takes none: write https://, or use a key" ;;
  esac
  ;;
esac
shown=$(hide "$repository")

cd "$TRAINFORM_GIT_PATH"
# Git that looks for the folder by itself asks whose it is; the kubelet makes it as root, whoever the containers run as.
export GIT_DIR="$PWD/.git" GIT_WORK_TREE="$PWD"
export GIT_ALLOW_PROTOCOL="${GIT_ALLOW_PROTOCOL-https:http:ssh:git}" # others read files of the pod, or start programs
if [ ${#commit} -gt 40 ]; then set -- --object-format=sha256; fi
git -c init.defaultBranch=main init -q "$@"
rm -f "$GIT_DIR"/*.lock # of one that was killed at work
if [ -n "${TRAINFORM_GIT_KEY:-}" ]; then
  printf '%s\n' "$TRAINFORM_GIT_KNOWN_HOSTS" >"$GIT_DIR/known_hosts"
  # Git hands these words to a shell, and ssh expands names of files: this name is relative to where git starts ssh.
  # shellcheck disable=SC2016 ## git hands the words to a shell, which expands them
  ssh='ssh -i "$TRAINFORM_GIT_KEY" -o IdentitiesOnly=yes -o StrictHostKeyChecking=yes -o BatchMode=yes'
  export GIT_SSH_COMMAND="$ssh -o UserKnownHostsFile=.git/known_hosts -o GlobalKnownHostsFile=/dev/null"
fi
## True if the commit is here already: the step runs again after a restart of the pod.
there() { git cat-file -e "$commit^{commit}" 2>/dev/null; }
if ! there && ! git fetch -q --depth 1 -- "$repository" "$commit" 2>/dev/null; then
  why=$(git fetch -q -- "$repository" "+refs/heads/*:refs/remotes/origin/*" "+refs/tags/*:refs/tags/*" 2>&1) ||
    {
      case $shown in # its host may be the begin of a password, and git names it
      '***@'*) why='git names a part of the address, which may be one of a password: escape / and @ in it, as %2F and %40' ;;
      esac
      fail "$shown cannot be fetched:
$(hide "$why")"
    }
fi
there || fail "$shown has no commit $commit"
git -c advice.detachedHead=false checkout -q --force "$commit"
say "$shown at $commit in $TRAINFORM_GIT_PATH"
