//! TLS to PostgreSQL with rustls, for URLs with `sslmode=require`: the certificate is always verified.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use model::{ErrorCode, Failure};
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::Socket;
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client;

/// Connects with the certificates that the operating system trusts.
#[derive(Clone)]
pub(crate) struct VerifiedTls(Arc<ClientConfig>);

impl VerifiedTls {
    pub(crate) fn new() -> Result<VerifiedTls, Failure> {
        let wrong = |error: rustls::Error| {
            Failure::new(ErrorCode::TlsConfigInvalid, "the certificates to trust cannot be read")
                .because(error)
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder =
            ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
        let verifier = rustls_platform_verifier::Verifier::new(provider).map_err(wrong)?;
        let config = builder
            .map_err(wrong)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier))
            .with_no_client_auth();
        Ok(VerifiedTls(Arc::new(config)))
    }
}

impl MakeTlsConnect<Socket> for VerifiedTls {
    type Stream = RustlsStream;
    type TlsConnect = HostConnector;
    type Error = rustls::pki_types::InvalidDnsNameError;

    fn make_tls_connect(&mut self, domain: &str) -> Result<HostConnector, Self::Error> {
        let name = ServerName::try_from(domain)?.to_owned();
        Ok(HostConnector { connector: TlsConnector::from(Arc::clone(&self.0)), name })
    }
}

pub(crate) struct HostConnector {
    connector: TlsConnector,
    name: ServerName<'static>,
}

impl TlsConnect<Socket> for HostConnector {
    type Stream = RustlsStream;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<RustlsStream>> + Send>>;

    fn connect(self, socket: Socket) -> Self::Future {
        Box::pin(async move { Ok(RustlsStream(self.connector.connect(self.name, socket).await?)) })
    }
}

pub(crate) struct RustlsStream(client::TlsStream<Socket>);

impl TlsStream for RustlsStream {
    fn channel_binding(&self) -> ChannelBinding {
        // The certificate is verified, which is what channel binding stands in for where it is not.
        ChannelBinding::none()
    }
}

impl AsyncRead for RustlsStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for RustlsStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }
}
