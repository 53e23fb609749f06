import { nkeys } from '@nats-io/transport-node';

type KeyPair = ReturnType<typeof nkeys.createUser>;

const toBase64Url = (value: object | Uint8Array) =>
  Buffer.from(value instanceof Uint8Array ? value : JSON.stringify(value)).toString('base64url');

/** A token of NATS, as its tool `nsc` makes them: claims of `subject`, signed by `issuer`. */
function sign(issuer: KeyPair, subject: KeyPair, nats: object): string {
  const claims = {
    jti: subject.getPublicKey(),
    iat: 1_700_000_000,
    iss: issuer.getPublicKey(),
    sub: subject.getPublicKey(),
  };
  const head = toBase64Url({ typ: 'JWT', alg: 'ed25519-nkey' });
  const body = `${head}.${toBase64Url({ ...claims, name: 'test', nats: { version: 2, ...nats } })}`;
  return `${body}.${toBase64Url(issuer.sign(Buffer.from(body)))}`;
}

/** An account with JetStream: lines for the configuration of a server, and the credentials file of a user. */
export function createNatsAccount(): { readonly config: string; readonly credentials: string } {
  const operator = nkeys.createOperator();
  const [system, account, user] = [nkeys.createAccount(), nkeys.createAccount(), nkeys.createUser()];
  const general = { subs: -1, data: -1, payload: -1, imports: -1, exports: -1, wildcards: true, conn: -1, leaf: -1 };
  const storage = { mem_storage: -1, disk_storage: -1, streams: -1, consumer: -1 };
  const accountToken = sign(operator, account, { type: 'account', limits: { ...general, ...storage } });
  const config = [
    `operator: ${sign(operator, operator, { type: 'operator', system_account: system.getPublicKey() })}`,
    `system_account: ${system.getPublicKey()}`,
    'resolver: MEMORY',
    'resolver_preload: {',
    `  ${system.getPublicKey()}: ${sign(operator, system, { type: 'account', limits: general })}`,
    `  ${account.getPublicKey()}: ${accountToken}`,
    '}',
  ].join('\n');
  const credentials = [
    '-----BEGIN NATS USER JWT-----',
    sign(account, user, { type: 'user', subs: -1, data: -1, payload: -1 }),
    '------END NATS USER JWT------',
    '',
    '-----BEGIN USER NKEY SEED-----',
    Buffer.from(user.getSeed()).toString(),
    '------END USER NKEY SEED------',
    '',
  ].join('\n');
  return { config, credentials };
}
