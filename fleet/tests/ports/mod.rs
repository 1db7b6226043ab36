//! Ports for servers that tests start.

/// So many in a row that nobody has, where no connection takes one by itself. The first of them.
pub fn free_ports(count: u16) -> u16 {
    let is_free = |port: u16| std::net::TcpListener::bind(("127.0.0.1", port)).is_ok();
    let from = 10_000 + (std::process::id() % 1_000) as u16 * count;
    (from..30_000).step_by(count.into()).find(|port| (*port..port + count).all(is_free)).unwrap()
}
