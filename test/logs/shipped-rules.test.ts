import { describe, expect, it } from 'vitest';
import { createSeededRandom, createSteppedClock } from '../../src/base/index.ts';
import { LineMatcher, MatchTotals, SHIPPED_RULES } from '../../src/logs/index.ts';
import { startSimulator } from '../../src/simulator/index.ts';
import { logPhrases } from '../../src/simulator/log-files/live-lines.ts';

const matcher = new LineMatcher(SHIPPED_RULES);

/** What the shipped rules find in a line: `logins result=success`. */
function findIn(component: string, message: string): string[] {
  const totals = new MatchTotals();
  matcher.of(component)?.search(message, totals);
  return totals.list().map(({ metric, labels, value }) => {
    expect(value).toBe(1);
    const shown = Object.entries(labels).map(([label, text]) => ` ${label}=${text}`);
    return metric.replace(/^router_log_(.*)_total$/, '$1') + shown.join('');
  });
}

describe('SHIPPED_RULES', () => {
  it('says of every metric that it is inferred, and the same in every rule that has it', () => {
    expect(SHIPPED_RULES.filter(({ help }) => !/^Log lines about .*\. Inferred: .*\.$/.test(help))).toEqual([]);
    const families = new Map(SHIPPED_RULES.map(({ name, help }) => [name, help]));
    expect([...families.keys()]).toEqual([
      'router_log_logins_total',
      'router_log_wan_changes_total',
      'router_log_modem_changes_total',
      'router_log_vpn_changes_total',
      'router_log_reboots_total',
    ]);
    expect(SHIPPED_RULES.filter(({ name, help }) => families.get(name) !== help)).toEqual([]);
  });

  it.each([
    ['events', 'event4: login of user monitor from 192.168.1.7 succeeded', 'logins result=success'],
    ['events', 'Successful login: admin via https', 'logins result=success'],
    ['system', 'User "admin" logged in from 10.0.0.1', 'logins result=success'],
    ['sshd', 'Accepted password for root from 10.0.0.1 port 4711 ssh2', 'logins result=success'],
    ['events', 'Authentication succeeded (user insys)', 'logins result=success'],
    ['events', 'event4: login of user monitor from 192.168.1.7 failed', 'logins result=failure'],
    ['events', 'Unsuccessful login attempt of admin', 'logins result=failure'],
    ['sshd', 'Failed password for invalid user root from 10.0.0.1', 'logins result=failure'],
    ['events', 'authentication of user x: wrong password', 'logins result=failure'],
    ['network', 'WAN chain in use: wan_chain_2', 'wan_changes'],
    ['network', 'wan1: chain went offline', 'wan_changes'],
    ['network', 'switching over to wan2', 'wan_changes'],
    ['modem', 'lte2: Online', 'modem_changes state=Online'],
    ['modem', 'lte2: SIM interface down', 'modem_changes state=SIM interface down'],
    ['modem', 'state of lte_serial2 changed from Offline to Logging in', 'modem_changes state=Logging in'],
    ['modem', 'modem 2 turned off', 'modem_changes state=turned off'],
    ['network', 'openvpn1: tunnel established', 'vpn_changes state=up'],
    ['openvpn', 'Initialization Sequence Completed', 'vpn_changes state=up'],
    ['ipsec', '02[IKE] IKE_SA ipsec1[4] established between 192.0.2.1[a]...192.0.2.2[b]', 'vpn_changes state=up'],
    ['events', 'VPN ipsec1 is down', 'vpn_changes state=down'],
    ['network', 'wg1: tunnel established', 'vpn_changes state=up'],
    ['events', 'wg1 is up', 'vpn_changes state=up'],
    ['network', 'interface wg12 went offline', 'vpn_changes state=down'],
    ['openvpn', 'SIGTERM[hard,] received, process exiting', 'vpn_changes state=down'],
    ['ipsec', '05[IKE] deleting IKE_SA ipsec1[4] between 192.0.2.1[a]...192.0.2.2[b]', 'vpn_changes state=down'],
    ['kernel', '[    0.000000] Linux version 5.10.1 (builder@host)', 'reboots'],
    ['system', 'System started', 'reboots'],
    ['system', 'device is going to reboot: rebooting', 'reboots'],
    ['events', 'restart of the device', 'reboots'],
  ])('finds in %s: "%s"', (component, message, found) => {
    expect(findIn(component, message)).toEqual([found]);
  });

  it.each([
    ['httpd', '192.168.1.7 "POST /login" 401 authentication failed'],
    ['restd', 'GET status/vpn answered: openvpn1 is up, login succeeded'],
    ['modem', 'lte2: Logging in'],
    ['ppp', 'CHAP authentication succeeded'],
    ['openvpn', 'TLS Error: authentication failed'],
    ['network', 'wan1: connection check of openvpn1 succeeded after 20 ms'],
    ['network', 'wan1: connection check of ipsec1 failed, retry 2'],
    ['system', 'ethernet1: port 1.1 link up'],
    ['system', 'wget of the update is up to date'],
    ['wireguard', 'peer 1: authentication failed'],
    ['system', 'container nodered restarted'],
    ['system', 'last login was yesterday'],
  ])('takes no line for a login, a tunnel or a restart that is none: %s "%s"', (component, message) => {
    expect(findIn(component, message).filter((found) => !found.startsWith('modem_changes'))).toEqual([]);
  });

  it('finds the logins among the phrases of the simulator, and nothing in the others', () => {
    const random = createSeededRandom(1);
    const found = logPhrases.map(({ component, render }) => {
      const lines = Array.from({ length: 200 }, () => findIn(component, render(random)).join());
      return [component, [...new Set(lines)]];
    });
    expect(found.filter(([component]) => component !== 'events')).toEqual(
      found.filter(([component]) => component !== 'events').map(([component]) => [component, ['']]),
    );
    expect(found.filter(([component]) => component === 'events')).toEqual([['events', ['logins result=success']]]);
  });

  it('finds what happens to a simulated router in what it logs about it', async () => {
    const clock = createSteppedClock(Date.UTC(2026, 0, 1));
    await using simulator = await startSimulator({
      routers: 1,
      clock,
      seed: 1,
      logActivity: 'live',
      logLinesPerSecond: 1,
    });
    await clock.advance(3_600_000);
    const truth = (component: string) => simulator.routers[0]?.truth(component).map(({ text }) => text) ?? [];
    const foundIn = (component: string, mark: RegExp) =>
      truth(component).flatMap((text) => {
        const message = mark.exec(text)?.[1];
        return message === undefined ? [] : findIn(component, message);
      });

    const states = foundIn('modem', /\] (lte\w*: (?!signal).*)$/);
    expect(states).toContain('modem_changes state=Online');
    expect(states).toContain('modem_changes state=Turned off');
    expect(states).toHaveLength(truth('modem').filter((text) => /\] lte\w*: /.test(text)).length);
    const chains = truth('network').filter((text) => text.includes('WAN chain in use'));
    expect(chains.length).toBeGreaterThan(0);
    expect(foundIn('network', /\] (.*)$/)).toEqual(chains.map(() => 'wan_changes'));
  });

  it('ends soon on a hostile line of 64 KiB', () => {
    const line = `user login lte2 wan vpn ${'login user vpn wan lte failed '.repeat(2200)}`;
    expect(findIn('events', line.slice(0, 65_536)).length).toBeGreaterThan(0);
  });
});
