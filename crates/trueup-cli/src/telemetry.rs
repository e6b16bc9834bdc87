//! Traces of what the program does, for OpenTelemetry: if it was built with the feature `opentelemetry`, and the
//! environment names a collector. The libraries make the spans; without a collector nobody asks for them, and each
//! costs one comparison.

use crate::exit::Failure;
use tracing::Subscriber;
use tracing_subscriber::Layer;
use tracing_subscriber::registry::LookupSpan;

/// A layer that exports spans.
pub(crate) type ExportLayer<S> = Box<dyn Layer<S> + Send + Sync>;

/// Starts to export traces, for a command that has no log.
///
/// # Errors
/// If the environment names a collector, but the export cannot be set up.
pub(crate) fn start() -> Result<(), Failure> {
    use tracing_subscriber::prelude::*;
    match layer()? {
        Some(layer) => tracing_subscriber::registry().with(layer).try_init().map_err(Failure::fault),
        None => Ok(()),
    }
}

#[cfg(feature = "opentelemetry")]
pub(crate) use export::{finish, layer};

#[cfg(feature = "opentelemetry")]
mod export {
    use super::{ExportLayer, Failure, Layer, LookupSpan, Subscriber};
    use crate::notice;
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_otlp::SpanExporter;
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use std::env;
    use std::sync::OnceLock;
    use tracing_subscriber::filter::{LevelFilter, Targets};

    /// The variables that name a collector, one of which must be set.
    const COLLECTORS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

    /// The variable with the name of the service.
    const SERVICE_NAME: &str = "OTEL_SERVICE_NAME";

    /// What sends the spans; not set while none is sent.
    static PROVIDER: OnceLock<SdkTracerProvider> = OnceLock::new();

    /// Returns the layer that exports the spans of trueup; `None` if the environment names no collector.
    ///
    /// # Errors
    /// If the export cannot be set up.
    pub(crate) fn layer<S>() -> Result<Option<ExportLayer<S>>, Failure>
    where
        S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
    {
        if !COLLECTORS.iter().any(|variable| env::var_os(variable).is_some_and(|value| !value.is_empty())) {
            return Ok(None);
        }
        // An error means that a provider is there already.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let failed = |error| Failure::request(format!("traces cannot be exported: {error}"));
        let exporter = SpanExporter::builder().with_http().build().map_err(failed)?;
        let mut resource = Resource::builder();
        if env::var_os(SERVICE_NAME).is_none() {
            resource = resource.with_service_name("trueup");
        }
        let provider =
            SdkTracerProvider::builder().with_batch_exporter(exporter).with_resource(resource.build()).build();
        let tracer = PROVIDER.get_or_init(|| provider).tracer("trueup");
        // The spans of other libraries, such as the client that sends these, would be noise.
        let ours = Targets::new().with_target("trueup", LevelFilter::DEBUG);
        Ok(Some(tracing_opentelemetry::layer().with_tracer(tracer).with_filter(ours).boxed()))
    }

    /// Sends the last spans.
    pub(crate) fn finish() {
        if let Some(provider) = PROVIDER.get()
            && let Err(error) = provider.shutdown()
        {
            notice::warning(format_args!("the last traces were not exported: {error}"));
        }
    }
}

/// Returns the layer that exports spans; there is none without the feature.
#[cfg(not(feature = "opentelemetry"))]
#[expect(clippy::unnecessary_wraps, reason = "the layer of the feature may fail")]
pub(crate) fn layer<S>() -> Result<Option<ExportLayer<S>>, Failure>
where
    S: Subscriber + for<'span> LookupSpan<'span> + Send + Sync,
{
    Ok(None)
}

/// Sends the last spans; there are none without the feature.
#[cfg(not(feature = "opentelemetry"))]
pub(crate) const fn finish() {}
