//! Asks the kernel which user of this machine has the other end of a connection.
//!
//! The question names both addresses, so the answer takes the same time with one socket or thousands, and needs no waiting.
//! Only Linux answers it.

use std::net::SocketAddr;

/// The other end of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(dead_code, reason = "each system has a part of the answers")]
pub(super) enum PeerUser {
    /// A process of the broker's own user; the socket has this inode.
    OwnUser { inode: u32 },
    /// A process of this user.
    OtherUser { uid: u32 },
    /// Not a socket that this broker can see: it is on another machine, in another network namespace or already closed.
    Unseen,
    /// This system has no way to ask.
    Unsupported,
}

/// The user of the socket at `remote` that is connected with `own`. The connection must still exist after this call, or the
/// answer may be about another one with the same addresses.
pub(super) fn find(own: SocketAddr, remote: SocketAddr) -> PeerUser {
    #[cfg(target_os = "linux")]
    {
        linux::find(own, remote).unwrap_or(PeerUser::Unseen)
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (own, remote);
        PeerUser::Unsupported
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use super::PeerUser;
    use netlink_packet_core::{NLM_F_REQUEST, NetlinkHeader, NetlinkMessage, NetlinkPayload};
    use netlink_packet_sock_diag::{
        SockDiagMessage,
        constants::{AF_INET, AF_INET6, IPPROTO_TCP, TCP_CLOSE_WAIT, TCP_ESTABLISHED, TCP_FIN_WAIT1, TCP_FIN_WAIT2},
        inet::{ExtensionFlags, InetRequest, InetResponseHeader, SocketId, StateFlags},
    };
    use netlink_sys::{Socket, SocketAddr as KernelAddress, protocols::NETLINK_SOCK_DIAG};
    use std::net::{IpAddr, SocketAddr};

    /// Any socket with these addresses.
    const NO_COOKIE: [u8; 8] = [0xff; 8];

    /// The kernel names users that this user namespace does not know by this id (`/proc/sys/kernel/overflowuid`).
    const UNKNOWN_UID: u32 = 65_534;

    /// A larger answer has attributes that were not asked for.
    const MAX_ANSWER_BYTES: usize = 8192;

    pub(super) fn find(own: SocketAddr, remote: SocketAddr) -> Option<PeerUser> {
        // A client that connects to an IPv4 address of a socket for both has an IPv4 socket.
        let (own_ip, remote_ip) = (own.ip().to_canonical(), remote.ip().to_canonical());
        let family = match remote_ip {
            IpAddr::V4(_) => AF_INET,
            IpAddr::V6(_) => AF_INET6,
        };
        let socket_id = SocketId {
            source_port: remote.port(),
            destination_port: own.port(),
            source_address: remote_ip,
            destination_address: own_ip,
            interface_id: 0,
            cookie: NO_COOKIE,
        };
        let found = ask(InetRequest {
            family,
            protocol: IPPROTO_TCP,
            extensions: ExtensionFlags::empty(),
            states: StateFlags::all(),
            socket_id: socket_id.clone(),
        })?;
        // The kernel falls back to a listener at that address.
        let id = &found.socket_id;
        let is_it = (id.source_port, id.destination_port) == (socket_id.source_port, socket_id.destination_port)
            && (id.source_address.to_canonical(), id.destination_address.to_canonical()) == (remote_ip, own_ip);
        let is_connected = [TCP_ESTABLISHED, TCP_FIN_WAIT1, TCP_FIN_WAIT2, TCP_CLOSE_WAIT].contains(&found.state);
        // A socket that its process has closed has no inode and counts as root's.
        (is_it && is_connected && found.inode != 0).then(|| of_user(found.uid, found.inode))
    }

    fn of_user(uid: u32, inode: u32) -> PeerUser {
        if uid == nix::unistd::geteuid().as_raw() && uid != UNKNOWN_UID {
            PeerUser::OwnUser { inode }
        } else {
            PeerUser::OtherUser { uid }
        }
    }

    /// The kernel answers before the request returns, so nothing here waits.
    fn ask(request: InetRequest) -> Option<InetResponseHeader> {
        let mut header = NetlinkHeader::default();
        header.flags = NLM_F_REQUEST;
        let mut message = NetlinkMessage::new(header, SockDiagMessage::InetRequest(request).into());
        message.finalize();
        let mut bytes = vec![0; message.buffer_len()];
        message.serialize(&mut bytes);
        let socket = Socket::new(NETLINK_SOCK_DIAG).ok()?;
        socket.set_non_blocking(true).ok()?;
        socket.send_to(&bytes, &KernelAddress::new(0, 0), 0).ok()?;
        let mut answer = Vec::with_capacity(MAX_ANSWER_BYTES);
        let (_, sender) = socket.recv_from(&mut answer, 0).ok()?;
        // Any process may write to this socket.
        if sender.port_number() != 0 {
            return None;
        }
        let answer = NetlinkMessage::<SockDiagMessage>::deserialize(&answer).ok()?;
        let NetlinkPayload::InnerMessage(SockDiagMessage::InetResponse(found)) = answer.payload else { return None };
        Some(found.header)
    }
}

#[cfg(test)]
#[cfg(target_os = "linux")]
#[path = "peer_user_tests.rs"]
mod tests;
