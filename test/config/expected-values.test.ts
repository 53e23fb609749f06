import { describe, expect, it } from 'vitest';
import { load, SHIPPED_MODULES } from './configuration-folder.ts';

const WEB = 'resource: administration/webinterface';

/** The lines of faults, and the rules of the routers, of which the second is in the group. */
async function read(defaults: string, group: string, router = '') {
  const text = `defaults: { auth: none, ${defaults} }
groups:
  g: { ${group} }
routers:
  - { name: a, url: "http://a", ${router} }
  - { name: b, url: "http://b", groups: [g], ${router} }
`;
  const { config, lines } = await load(text, { options: { shippedModules: SHIPPED_MODULES } });
  return { lines, rules: config?.routers.map(({ expect: rules }) => rules) };
}

describe('expected values', () => {
  it('of the nearest layer count, as a whole, and none are expected by default', async () => {
    const one = { resource: 'administration/webinterface', field: 'active', value: '0' };
    expect(await read(`expect: [{ ${WEB}, field: active, value: "0" }]`, 'expect: []')).toEqual({
      lines: [],
      rules: [[one], []],
    });
    expect(await read('', `expect: [{ ${WEB}, field: [active, http_active], value: "" }]`)).toEqual({
      lines: [],
      rules: [[], [{ ...one, field: ['active', 'http_active'], value: '' }]],
    });
  });

  it.each([
    [
      `[{ ${WEB}, field: active, value: 0 }]`,
      /value: Expected text of at most 256 characters \(a number needs quotes\)/,
    ],
    [`[{ ${WEB}, value: "0" }]`, /field: Missing key/],
    [`[{ ${WEB}, feild: active, value: "0" }]`, /feild: Unknown key; did you mean "field"/],
    [`[{ ${WEB}, field: [], value: "0" }]`, /field: Expected the name of a field, or a list of at most 8/],
    [`[{ ${WEB}, field: "a b", value: "0" }]`, /field: Expected the name of a field/],
    [
      '[{ resource: webinterface, field: a, value: "0" }]',
      /resource: Expected the path of a resource of the configuration/,
    ],
    ['[{ resource: ../x/y, field: a, value: "0" }]', /resource: Expected the path of a resource/],
    [
      `[{ ${WEB}, field: a, value: "0" }, { ${WEB}, field: a, value: "1" }]`,
      /expect\[1\].*[Ee]xpected a name that no other item of the list has; \\?"webinterface\.a\\?" is taken/,
    ],
    [`[{ rule: "a b", ${WEB}, field: a, value: "0" }]`, /rule: Expected a name/],
    ['{}', /expect: Expected a list of at most 32 maps/],
  ])('with a mistake are refused with its place: %s', async (written, fault) => {
    const { lines } = await read('', `expect: ${written}`);
    expect(lines.join('\n')).toMatch(fault);
    for (const line of lines) expect(line).toContain('groups.g.expect');
  });

  it('are refused where the router has no module that reads them', async () => {
    const { lines } = await read('', `expect: [{ ${WEB}, field: active, value: "0" }]`, 'modules: [system]');
    expect(lines.join('\n')).toMatch(
      /:3:.* groups\.g\.expect: "expect" has no effect, because "modules" of the router lacks "compliance"/,
    );
    const plans = await read('', 'data_plans: [{ limit: 5GiB }]', 'modules: [system]');
    expect(plans.lines.join('\n')).toContain(
      '"data_plans" has no effect, because "modules" of the router lacks "interfaces"',
    );
  });
});
