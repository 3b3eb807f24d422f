# Sourced by ./demo and ./test: what Fairlead needs from Debian, and how it is built.

build_packages="gcc libc6-dev cmake ninja-build pkgconf zlib1g-dev libjansson-dev libsodium-dev libsqlite3-dev libwebsockets-dev ca-certificates"
command -v npm >/dev/null || build_packages="$build_packages npm" # fetches uPlot for the page; a node of one's own will do
test_packages="libcmocka-dev libenet-dev python3 git g++ clang-14 libclang-rt-14-dev clang-format-14 clang-tidy-14 cppcheck doxygen
    gcc-mingw-w64-x86-64-posix chromium"

# Says what is needed where we cannot install it ourselves.
give_up() {
    echo "$1 Needed, by their names in Debian 12:" >&2
    echo $2 >&2
    exit 2
}

# Installs those of the packages $1 that are missing.
install_missing() {
    command -v apt-get >/dev/null && command -v dpkg-query >/dev/null ||
        give_up "This is not Debian, so nothing is installed." "$1"
    missing=
    for package in $1; do
        dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed ||
            missing="$missing $package"
    done
    [ -n "$missing" ] || return 0
    grep -qx 'VERSION_CODENAME=bookworm' /etc/os-release ||
        give_up "This is not Debian 12, so nothing is installed." "$1"
    as_root=
    if [ "$(id -u)" -ne 0 ]; then
        as_root=sudo
        command -v sudo >/dev/null || give_up "Installing needs root or sudo." "$1"
    fi
    echo "Installing from Debian:$missing"
    $as_root apt-get -q update &&
        $as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y install --no-install-recommends $missing
}

# Configures and builds preset $1, warnings being errors. Of the configuring only failures are shown.
build() {
    log=$(mktemp)
    if ! cmake --preset "$1" -DFL_WERROR=ON >"$log" 2>&1; then
        cat "$log"
        rm "$log"
        return 1
    fi
    rm "$log"
    cmake --build --preset "$1" -- --quiet
}
