import { expect, test } from 'vitest';
import { startFleet } from '../support/fleet.ts';
import { takeTurns } from '../support/take-turns.ts';

const MINUTE_MS = 60_000;

/** Families of the text format with the labels of their first sample; runtime families apart. */
function catalogue(metrics: string): string[] {
  return [...metrics.matchAll(/^# TYPE (router_\S+) (\S+)\n(.*)$/gm)].map(([, name = '', type, sample = '']) => {
    const labels = [...sample.matchAll(/(\w+)="/g)].map(([, label]) => label);
    return `${name} ${type} ${labels.join(',')}`.trimEnd();
  });
}

test('the families of a fleet and of the agent, their types and labels are those that users rely on', async () => {
  await using fleet = await startFleet({ simulator: { logs: { compressionMs: 0 } } });
  fleet.router().appendLog('network', 'a line');
  await fleet.advance(MINUTE_MS);
  fleet.router().rotate('network');
  await fleet.advance(2 * MINUTE_MS);

  const metrics = await fleet.metrics();

  expect(catalogue(metrics)).toMatchInlineSnapshot(`
    [
      "router_account_writable gauge router",
      "router_api_login_failures_total counter router,reason",
      "router_api_logins_total counter router",
      "router_api_received_bytes_total counter router",
      "router_api_sent_bytes_total counter router",
      "router_api_token_refreshes_total counter router",
      "router_board_info gauge router,slot,board_type,hardware_version,hardware_features,firmware_version,serial_number",
      "router_clock_offset_seconds gauge router",
      "router_config_changes_total counter router,section,resource",
      "router_config_entries gauge router,section,resource",
      "router_config_hash gauge router",
      "router_consecutive_failures gauge router",
      "router_device_changes_total counter router,fact",
      "router_device_info gauge router,device_type",
      "router_dhcp_leases gauge router",
      "router_failure_reason gauge router,reason",
      "router_flash_ok gauge router",
      "router_interface_receive_bytes_total counter router,interface",
      "router_interface_receive_errors_total counter router,interface",
      "router_interface_receive_packets_total counter router,interface",
      "router_interface_transmit_bytes_total counter router,interface",
      "router_interface_transmit_errors_total counter router,interface",
      "router_interface_transmit_packets_total counter router,interface",
      "router_last_success_timestamp_seconds gauge router",
      "router_load1 gauge router",
      "router_load15 gauge router",
      "router_load5 gauge router",
      "router_location_info gauge router,location",
      "router_log_archives gauge router,component",
      "router_log_bytes_total counter router,component",
      "router_log_gap_bytes_total counter router,component,certainty,reason",
      "router_log_gaps_total counter router,component,certainty,reason",
      "router_log_lag_seconds gauge router,component",
      "router_log_lines_total counter router,component",
      "router_log_newest_timestamp_seconds gauge router,component",
      "router_log_resets_total counter router,component",
      "router_log_time_to_loss_seconds gauge router,component",
      "router_log_unparsed_lines_total counter router,component",
      "router_memory_total_bytes gauge router",
      "router_memory_used_bytes gauge router",
      "router_modem_access_technology gauge router,modem,access_technology",
      "router_modem_info gauge router,modem,provider,provider_name",
      "router_modem_online gauge router,modem",
      "router_modem_pin_retries gauge router,modem",
      "router_modem_rsrp_dbm gauge router,modem",
      "router_modem_rsrq_db gauge router,modem",
      "router_modem_rssi_dbm gauge router,modem",
      "router_modem_signal_csq gauge router,modem",
      "router_modem_sim_ok gauge router,modem",
      "router_modem_sinr_db gauge router,modem",
      "router_modem_state gauge router,modem,state",
      "router_modem_temperature_celsius gauge router,modem",
      "router_modem_used_sim gauge router,modem,used_sim",
      "router_poll_duration_seconds gauge router",
      "router_port_full_duplex gauge router,resource,slot,port",
      "router_port_link_up gauge router,resource,slot,port,net",
      "router_port_speed_bytes_per_second gauge router,resource,slot,port",
      "router_profile_last_activated gauge router,profile",
      "router_profile_mode_info gauge router,profile,mode",
      "router_profile_modified gauge router,profile",
      "router_resource_age_seconds gauge router,resource",
      "router_resource_duration_seconds gauge router,resource",
      "router_resource_permitted gauge router,resource",
      "router_resource_supported gauge router,resource",
      "router_resource_understood gauge router,resource",
      "router_resource_up gauge router,resource",
      "router_series_dropped gauge router",
      "router_supply_active gauge router,resource,slot,input",
      "router_supply_volts gauge router,resource,slot,input",
      "router_tls_certificate_not_after_timestamp_seconds gauge router",
      "router_tls_unverified gauge router",
      "router_up gauge router",
      "router_uptime_seconds gauge router",
      "router_wan_active_info gauge router,chain",
      "router_wan_chain_member_info gauge router,chain,interface,position",
      "router_wan_chain_member_online gauge router,chain,interface",
      "router_exporter_build_info gauge version,revision,node_version",
      "router_exporter_config_last_reload_successful gauge",
      "router_exporter_config_last_reload_success_timestamp_seconds gauge",
      "router_exporter_firmware_version_info gauge",
      "router_exporter_shard gauge",
      "router_exporter_total_shards gauge",
      "router_exporter_polls_total counter result",
      "router_exporter_schedule_lag_seconds histogram le,activity",
      "router_exporter_event_loop_delay_seconds histogram le",
      "router_exporter_mapping_errors_total counter",
      "router_exporter_sink_records_total counter sink,result",
      "router_exporter_sink_up gauge sink",
      "router_exporter_sink_tls_unverified gauge",
      "router_exporter_sink_failures_total counter",
      "router_exporter_sink_warnings_total counter sink",
      "router_exporter_sink_sent_bytes_total counter sink",
      "router_exporter_sink_lag_seconds gauge sink",
      "router_exporter_dead_letters gauge sink",
      "router_exporter_dead_letters_dropped_total counter sink",
      "router_exporter_spool_damaged_records_total counter",
      "router_exporter_spool_max_bytes gauge",
      "router_exporter_spool_held_back gauge",
      "router_exporter_spool_held_back_routers gauge",
      "router_exporter_spool_records gauge",
      "router_exporter_spool_bytes gauge",
      "router_exporter_runs gauge state",
      "router_exporter_runs_max gauge",
      "router_exporter_source_up gauge",
      "router_exporter_source_last_success_timestamp_seconds gauge",
      "router_exporter_source_routers gauge",
      "router_exporter_source_refused_routers gauge",
      "router_exporter_source_held_removals gauge",
      "router_exporter_connections gauge state",
      "router_exporter_connections_max gauge",
      "router_exporter_connections_evicted_total counter",
      "router_exporter_routers gauge state",
    ]
  `);

  expect(metrics).toContain('\nprocess_resident_memory_bytes ');
  expect(metrics).toContain('\nnodejs_eventloop_lag_p99_seconds ');
  expect(metrics).not.toMatch(/nodejs_eventloop_lag_(min|max|mean|stddev)_/);
});

test('the numbers of logs, polls and sinks are those of what happened', async () => {
  await using fleet = await startFleet({ simulator: { logs: { compressionMs: 0 } } });
  for (const text of ['one', 'two', 'three']) fleet.router().appendLog('network', text);
  await fleet.advance(10 * MINUTE_MS);

  const metrics = await fleet.metrics();
  const bytes = fleet
    .router()
    .truth('network')
    .reduce((sum, line) => sum + line.bytes.length + 1, 0);

  expect(metrics).toContain('router_log_lines_total{router="sim-1",component="network"} 3\n');
  expect(metrics).toContain(`router_log_bytes_total{router="sim-1",component="network"} ${bytes}\n`);
  expect(metrics).toContain('router_log_unparsed_lines_total{router="sim-1",component="network"} 0\n');
  // Losses are counted from 0, so that the first one is an increase.
  for (const certainty of ['certain', 'likely', 'possible']) {
    const labels = `{router="sim-1",component="network",certainty="${certainty}",reason="missing"}`;
    expect(metrics).toContain(`router_log_gaps_total${labels} 0\n`);
    expect(metrics).toContain(`router_log_gap_bytes_total${labels} 0\n`);
  }
  expect(metrics).toContain('router_log_resets_total{router="sim-1",component="network"} 0\n');
  expect(metrics).toContain('router_exporter_dead_letters_dropped_total{sink="console"} 0\n');
  expect(metrics).toContain('router_log_archives{router="sim-1",component="network"} 0\n');
  expect(metrics).toContain('router_exporter_polls_total{result="success"} 10\n');
  expect(metrics).toContain('router_exporter_sink_records_total{sink="console",result="delivered"} 3\n');
  expect(metrics).toContain('router_exporter_spool_records 0\n');
  expect(metrics).toContain('router_exporter_routers{state="up"} 1\n');
  expect(metrics).toMatch(/^router_exporter_schedule_lag_seconds_count\{activity="status"\} [1-9]/m);
  const newest = /router_log_newest_timestamp_seconds\{router="sim-1",component="network"\} (\d+)/.exec(metrics)?.[1];
  expect(Number(newest)).toBe(Math.floor(Date.parse(fleet.records[2]?.timestamp ?? '') / 1000));
});

test('only the chosen components are read', async () => {
  await using fleet = await startFleet({
    router: { logs: { enabled: true, interval: 30_000, start: 'all', components: ['*', '!http*'] } },
  });
  for (const component of ['network', 'httpd', 'system']) fleet.router().appendLog(component, 'a line');
  await fleet.advance(MINUTE_MS);

  expect(fleet.records.map(({ component }) => component).toSorted()).toEqual(['network', 'system']);
});

test('logs that the account may not read are said once in the log and shown as not permitted, never as a failure', async () => {
  await using fleet = await startFleet({ router: { username: 'status' } });
  fleet.router().appendLog('network', 'a line');
  await fleet.advance(10 * MINUTE_MS);

  const metrics = await fleet.metrics();
  expect(metrics).toContain('router_up{router="sim-1"} 1\n');
  expect(metrics).toContain('router_resource_permitted{router="sim-1",resource="logs"} 0\n');
  expect(metrics).not.toContain('router_resource_up{router="sim-1",resource="logs"}');
  const warnings = fleet.ownLog.filter(
    ({ level, message }) => level === 'warn' && message === 'The account may not read the logs',
  );
  expect(warnings).toHaveLength(1);
  expect(JSON.stringify(warnings)).toContain('was answered with 403');
});

test('a router with slow logs is polled between two of them, and every log is read', async () => {
  await using fleet = await startFleet({
    router: {
      modules: [],
      poll: { interval: 10_000, timeout: 9000, connect_timeout: 5000, deadline: 9000, stale_after: 60_000 },
      logs: { enabled: true, interval: 10_000, start: 'all', components: ['*'] },
    },
  });
  for (const component of ['a', 'b', 'c', 'd', 'e', 'f']) fleet.router().appendLog(component, 'a line');
  // The listing and six logs take 28 s, which is longer than two intervals of the polls.
  await fleet.router().fault('slow', { path: '/download/log', delayMs: 4000 });

  // A run over the logs is hardly ever idle, so the clock advances after some iterations of the event loop.
  for (let second = 0; second < 300; second++) {
    await fleet.clock.advance(1000);
    await takeTurns(250);
  }

  expect(fleet.agent.summary().polls).toBeGreaterThanOrEqual(20);
  expect(fleet.records.map(({ component }) => component).toSorted()).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
});
