import type { X509Certificate } from 'node:crypto';

/** Facts of a router's certificate when it was last verified. Times are Unix milliseconds. */
export interface RouterCertificate {
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** Hexadecimal with colons, one of the forms of `tls.fingerprint_sha256`. */
  readonly fingerprintSha256: string;
}

/** `undefined` when there is no certificate or its times cannot be read. */
export function decodeCertificate(certificate: X509Certificate | undefined): RouterCertificate | undefined {
  if (!certificate) return undefined;
  const notBeforeMs = parseCertificateTime(certificate.validFrom);
  const notAfterMs = parseCertificateTime(certificate.validTo);
  if (notBeforeMs === undefined || notAfterMs === undefined) return undefined;
  return { notBeforeMs, notAfterMs, fingerprintSha256: certificate.fingerprint256 };
}

const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
/** `Dec 31 23:59:59 2049 GMT`; days below ten have a space before them, seconds may have a fraction, the zone may lack. */
const TIME =
  /^(?<month>[A-Z][a-z]{2}) {1,2}(?<day>\d{1,2}) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(\.\d{1,9})? (?<year>\d{4})( GMT)?$/;

/** A time as OpenSSL prints that of a certificate, as Unix milliseconds; `undefined` for anything else. */
export function parseCertificateTime(text: string): number | undefined {
  const groups = TIME.exec(text)?.groups;
  const month = MONTHS.indexOf(groups?.['month'] ?? '');
  if (!groups || month < 0) return undefined;
  const [day, hour, minute, second, year] = ['day', 'hour', 'minute', 'second', 'year'].map((name) =>
    Number(groups[name]),
  );
  const time = Date.UTC(year ?? Number.NaN, month, day, hour, minute, second);
  // The first 99 years of the calendar would be taken for the last century.
  return Number.isNaN(time) || (year ?? 0) < 1000 ? undefined : time;
}
