//! A small web server that does as it is told, wrong things too.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use super::certs;

/// A request as it came.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    /// `GET` and so on.
    pub(crate) method: String,
    /// Path and query.
    pub(crate) target: String,
    /// Names in small letters.
    pub(crate) headers: Vec<(String, String)>,
    /// The body, where there is one.
    pub(crate) body: String,
}

impl Seen {
    /// The value of a header; empty where there is none.
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }
}

/// What is answered.
#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    /// 200 and so on.
    pub(crate) status: u16,
    /// Besides the length.
    pub(crate) headers: Vec<(&'static str, String)>,
    /// The content.
    pub(crate) body: Vec<u8>,
    /// After how many bytes of it the connection breaks off.
    pub(crate) cut: Option<usize>,
}

impl Reply {
    /// A good answer.
    pub(crate) fn ok(body: impl Into<Vec<u8>>) -> Self {
        Self {
            status: 200,
            body: body.into(),
            ..Self::default()
        }
    }

    /// An answer without content.
    pub(crate) fn status(status: u16) -> Self {
        Self {
            status,
            ..Self::default()
        }
    }

    /// The same with one more header.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.push((name, value.into()));
        self
    }
}

/// What speaks on a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tls {
    /// Nothing: plain HTTP.
    Off,
    /// TLS.
    On,
    /// TLS that wants a client's certificate.
    Client,
    /// TLS with a certificate that is its own authority.
    OwnAuthority,
}

type Handler = dyn Fn(&Seen) -> Reply + Send + Sync;

/// A server on 127.0.0.1 until it is dropped.
pub(crate) struct Server {
    address: SocketAddr,
    tls: Tls,
    seen: Arc<Mutex<Vec<Seen>>>,
    stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// Starts one.
    pub(crate) fn new(tls: Tls, handler: impl Fn(&Seen) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let seen = Arc::new(Mutex::new(Vec::new()));
        let stopped = Arc::new(AtomicBool::new(false));
        let config = match tls {
            Tls::Off => None,
            Tls::On => Some(certs::server_config(false)),
            Tls::Client => Some(certs::server_config(true)),
            Tls::OwnAuthority => Some(certs::own_authority_config()),
        };
        let handler: Arc<Handler> = Arc::new(handler);
        let thread = std::thread::spawn({
            let (seen, stopped) = (seen.clone(), stopped.clone());
            move || {
                for stream in listener.incoming() {
                    if stopped.load(Ordering::SeqCst) {
                        break;
                    }
                    let (config, handler, seen) = (config.clone(), handler.clone(), seen.clone());
                    // Each ends with its connection.
                    std::thread::spawn(move || {
                        let Ok(stream) = stream else { return };
                        let _ = match config {
                            None => serve(stream, &*handler, &seen),
                            Some(config) => {
                                let connection = rustls::ServerConnection::new(config).unwrap();
                                serve(
                                    rustls::StreamOwned::new(connection, stream),
                                    &*handler,
                                    &seen,
                                )
                            }
                        };
                    });
                }
            }
        });
        Self {
            address,
            tls,
            seen,
            stopped,
            thread: Some(thread),
        }
    }

    /// Host and port.
    pub(crate) fn host(&self) -> String {
        self.address.to_string()
    }

    /// The address of a path.
    pub(crate) fn url(&self, path: &str) -> String {
        let scheme = if self.tls == Tls::Off {
            "http"
        } else {
            "https"
        };
        format!("{scheme}://{}{path}", self.address)
    }

    /// All requests so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The targets of all requests so far.
    pub(crate) fn targets(&self) -> Vec<String> {
        self.seen().into_iter().map(|seen| seen.target).collect()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stopped.store(true, Ordering::SeqCst);
        // Wakes it up.
        let _ = TcpStream::connect(self.address);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Answers one request and closes.
fn serve(stream: impl Read + Write, handler: &Handler, seen: &Mutex<Vec<Seen>>) -> io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut line = String::new();
    // A greeting of TLS is no line of text.
    let _ = stream.read_line(&mut line);
    let mut words = line.split_whitespace();
    let (Some(method), Some(target)) = (words.next(), words.next()) else {
        return stream
            .get_mut()
            .write_all(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n");
    };
    let (method, target) = (method.to_owned(), target.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line)?;
        match line.trim_end().split_once(':') {
            Some((name, value)) => {
                headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
            }
            None => break,
        }
    }
    let mut request = Seen {
        method,
        target,
        headers,
        body: String::new(),
    };
    let length: u64 = request.header("content-length").parse().unwrap_or(0);
    (&mut stream)
        .take(length)
        .read_to_string(&mut request.body)?;
    let reply = handler(&request);
    seen.lock().unwrap().push(request);
    let mut head = format!(
        "HTTP/1.1 {} X\r\nContent-Length: {}\r\nConnection: close\r\n",
        reply.status,
        reply.body.len()
    );
    for (name, value) in &reply.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("\r\n");
    let out = stream.get_mut();
    out.write_all(head.as_bytes())?;
    let end = reply.cut.unwrap_or(reply.body.len());
    out.write_all(&reply.body[..end])?;
    out.flush()
}
