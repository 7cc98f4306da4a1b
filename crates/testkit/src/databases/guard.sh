# Runs a server for tests and ends it for sure, whatever becomes of the tests.
#
#   guard.sh FOLDER LOCKS STOP READY COMMAND...
#
# FOLDER holds what belongs to the server; its log is written there. READY is a shell command that succeeds once the process
# $SERVER answers. STOP is the signal that ends the server. Prints `ready`, or `failed` and the end of the log.
#
# Without LOCKS the server belongs to whoever holds the other end of standard input: `stop` and `crash` end it and leave the
# folder, the end of the input, also by the death of the owner, ends it and removes the folder. With LOCKS, a folder, it belongs
# to all who hold a shared lock on LOCKS/users, which the kernel frees when they die; it ends a while after the last of them.
# If this shell is killed, the kernel sends STOP to the server.
set -u
folder=$1 locks=$2 stop=$3 ready=$4
shift 4

if [ -n "$locks" ]; then
    exec 9>"$locks/keeper"
    flock --nonblock 9 || exit 1
fi
setpriv --pdeathsig "$stop" "$@" >>"$folder/log" 2>&1 </dev/null 9>&- &
server=$!
export SERVER=$server
until sh -c "$ready" </dev/null >/dev/null 2>&1 9>&-; do
    case "$(sed -n 's/^State:[[:space:]]*//p' "/proc/$server/status" 2>/dev/null)" in
    '' | Z*)
        echo failed
        tail -n 20 "$folder/log"
        exit 1
        ;;
    esac
    sleep 0.02
done
echo ready
exec >/dev/null 2>&1

if [ -n "$locks" ]; then
    exec 8>>"$locks/users"
    while :; do
        flock --exclusive 8
        flock --unlock 8
        # The next test of a run comes soon.
        sleep 10
        flock --exclusive --nonblock 8 && break
    done
    rm -f "$locks/address"
    order=end
else
    read -r order || order=end
fi
case $order in
crash) kill -KILL "$server" ;;
*) kill -"$stop" "$server" ;;
esac
wait "$server"
[ "$order" = end ] && rm -rf "$folder"
# Who waits for `users` must find `keeper` free.
[ -n "$locks" ] && exec 9>&-
exit 0
