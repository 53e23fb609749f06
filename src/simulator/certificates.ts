import {
  type CertificateAuthority,
  createCertificateAuthority,
  type ServerCertificate,
} from './certificate-authority.ts';
import { deriveRandom } from './seeded.ts';

/** The certificates of a fleet. Authorities are made when they are first needed, because making keys takes time. */
export class Certificates {
  readonly #seed: number;
  readonly #authorities = new Map<string, Promise<CertificateAuthority>>();
  #caPem = '';

  constructor(seed: number) {
    this.#seed = seed;
  }

  /** The certificate of the authority that clients are to trust; empty before it has signed anything. */
  get caPem(): string {
    return this.#caPem;
  }

  /** Issues a certificate that clients of the fleet can verify. */
  async issue(hosts: readonly string[]): Promise<ServerCertificate> {
    const authority = await this.#open('router-exporter simulator');
    this.#caPem = authority.caPem;
    return authority.issue(hosts);
  }

  /** Issues a certificate by an authority that nobody trusts. */
  async issueBad(hosts: readonly string[]): Promise<ServerCertificate> {
    return (await this.#open('router-exporter stranger')).issue(hosts);
  }

  #open(name: string): Promise<CertificateAuthority> {
    const authority = this.#authorities.get(name) ?? createCertificateAuthority(name, deriveRandom(this.#seed, name));
    this.#authorities.set(name, authority);
    return authority;
  }
}
