import type { Writable } from 'node:stream';
import type { Clock } from '../base/index.ts';
import type { SinkSettings } from '../config/index.ts';
import {
  createElasticsearchSink,
  createFileSink,
  createHttpSink,
  createLokiSink,
  createNatsSink,
  createOtlpSink,
  createStdoutSink,
  createSyslogSink,
  type Sink,
} from '../delivery/index.ts';
import type { TlsSettings } from '../settings/index.ts';

export interface SinkSurroundings {
  readonly clock: Clock;
  /** Where a sink of type `stdout` writes. */
  readonly stdout: Writable;
  /** Size of the fleet. */
  readonly routers: () => number;
  /** Of this program; absent: not told to sinks. */
  readonly version?: string | undefined;
}

/** The sink that the configuration describes; nothing is opened yet. */
export function createSink(settings: SinkSettings, { clock, stdout, routers, version }: SinkSurroundings): Sink {
  switch (settings.type) {
    case 'stdout':
      return createStdoutSink({ ...settings, output: stdout });
    case 'file':
      return createFileSink({ ...settings, clock });
    case 'http':
      return createHttpSink({ ...settings, tls: toSinkTls(settings.tls), clock });
    case 'loki':
      return createLokiSink({ ...settings, tls: toSinkTls(settings.tls), clock, routers });
    case 'elasticsearch':
      return createElasticsearchSink({ ...settings, tls: toSinkTls(settings.tls), clock });
    case 'otlp':
      return createOtlpSink({ ...settings, tls: toSinkTls(settings.tls), version, clock });
    case 'syslog':
      return createSyslogSink({ ...settings, tls: toSinkTls(settings.tls), clock });
    case 'nats':
      return createNatsSink({ ...settings, tls: toSinkTls(settings.tls), clock });
  }
}

function toSinkTls({ keyPem, ...tls }: TlsSettings) {
  return { ...tls, keyPem: keyPem?.reveal() };
}
