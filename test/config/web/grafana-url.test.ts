import { expect, test } from 'vitest';
import { load, withRouter } from '../configuration-folder.ts';

const loadUrl = (url: string) => load(`web:\n  grafana_url: ${JSON.stringify(url)}\n${withRouter()}`);

test('web.grafana_url is kept without the slash at its end', async () => {
  const { config } = await loadUrl('https://grafana.example.com/monitoring/');
  expect(config?.web.grafana_url).toBe('https://grafana.example.com/monitoring');
});

test.for([
  'grafana.example.com',
  'javascript:alert(1)',
  'https://me:secret@grafana',
  'https://grafana?a=b',
  'https://g/#x',
])('web.grafana_url is refused as %s', async (url) => {
  const { lines } = await loadUrl(url);
  expect(lines).toHaveLength(1);
  expect(lines[0]).toContain('web.grafana_url');
  expect(lines[0]).not.toContain('secret');
});
