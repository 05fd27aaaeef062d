use super::{PeerUser, find};
use nix::unistd::geteuid;
use std::{
    net::{SocketAddr, TcpListener, TcpStream},
    os::unix::process::CommandExt as _,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// A connected pair: the listener's end first.
fn pair(listener: &TcpListener) -> (TcpStream, TcpStream) {
    let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    (listener.accept().unwrap().0, client)
}

fn peer_of(own_end: &TcpStream) -> PeerUser {
    find(own_end.local_addr().unwrap(), own_end.peer_addr().unwrap())
}

/// A process of another user that connects and waits.
#[expect(clippy::disallowed_methods, reason = "the test has nothing else to do")]
fn connect_as(uid: u32, address: SocketAddr) -> Child {
    let script = format!("exec 3<>/dev/tcp/{}/{}; read -r", address.ip(), address.port());
    let mut command = Command::new("bash");
    command.args(["-c", &script]).uid(uid).current_dir("/").stdin(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn a_socket_of_the_own_user_is_recognised_on_every_kind_of_loopback_address() {
    for (listen, connect) in
        [("127.0.0.1:0", "127.0.0.1"), ("127.0.0.1:0", "::ffff:127.0.0.1"), ("[::1]:0", "::1"), ("[::]:0", "127.0.0.1")]
    {
        let Ok(listener) = TcpListener::bind(listen) else {
            println!("SKIPPED: this machine has no IPv6: {listen}");
            continue;
        };
        let port = listener.local_addr().unwrap().port();
        let client = TcpStream::connect(SocketAddr::new(connect.parse().unwrap(), port)).unwrap();
        let (own_end, _) = listener.accept().unwrap();
        let peer = peer_of(&own_end);
        assert!(matches!(peer, PeerUser::OwnUser { inode } if inode != 0), "{listen} {connect}: {peer:?}");
        drop(client);
    }
}

#[test]
fn a_socket_of_another_user_is_recognised() {
    if !geteuid().is_root() {
        println!("SKIPPED: only root can start a process of another user");
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let mut other = connect_as(12_345, listener.local_addr().unwrap());
    let (own_end, _) = listener.accept().unwrap();
    assert_eq!(peer_of(&own_end), PeerUser::OtherUser { uid: 12_345 });
    drop(other.stdin.take());
    other.wait().unwrap();
}

#[test]
fn a_closed_socket_belongs_to_no_user() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (own_end, client) = pair(&listener);
    client.shutdown(std::net::Shutdown::Write).unwrap();
    assert!(matches!(peer_of(&own_end), PeerUser::OwnUser { .. }), "half closed");
    // The kernel keeps the socket for a while and reports it as root's.
    drop(client);
    assert_eq!(peer_of(&own_end), PeerUser::Unseen);
}

#[test]
fn a_listener_at_the_address_of_the_peer_does_not_count() {
    let (listener, other) = (TcpListener::bind("127.0.0.1:0").unwrap(), TcpListener::bind("127.0.0.1:0").unwrap());
    let found = find(listener.local_addr().unwrap(), other.local_addr().unwrap());
    assert_eq!(found, PeerUser::Unseen);
}

#[test]
fn a_lookup_does_not_slow_down_with_the_number_of_sockets() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    // The shortest, since other programs run on this machine.
    let time = |own_end: &TcpStream| {
        let once = |_| {
            let began = Instant::now();
            assert!(matches!(peer_of(own_end), PeerUser::OwnUser { .. }));
            began.elapsed()
        };
        (0..200).map(once).min().unwrap()
    };
    let first = pair(&listener);
    let alone = time(&first.0);
    // Within the usual limit of 1024 open files.
    let others: Vec<_> = (0..400).map(|_| pair(&listener)).collect();
    let among_many = time(&first.0);
    println!("one lookup: {alone:?} alone, {among_many:?} with {} more sockets", 2 * others.len());
    assert!(among_many < alone * 3 + Duration::from_micros(50), "{alone:?}, {among_many:?}");
}
