import assert from "node:assert/strict";
import { test } from "node:test";
import { ride, zoneRows } from "../src/stories/taxi.ts";

test("rides have the columns of their streams, begin in known zones, and add up", () => {
  const zones = new Set(zoneRows().map((one) => one.LOCATIONID));
  for (let i = 0; i < 200; i++) {
    const one = ride(1000, "yellow") as Record<string, number>;
    assert.ok(zones.has(one.PULOCATIONID!) && zones.has(one.DOLOCATIONID!));
    assert.ok(one.TPEP_DROPOFF_DATETIME! > 1000 && one.TRIP_DISTANCE! > 0);
    assert.ok(Math.abs(one.TOTAL_AMOUNT! - one.FARE_AMOUNT! - one.TIP_AMOUNT! - 4.5) < 0.01);
  }
  assert.ok("LPEP_PICKUP_DATETIME" in ride(1000, "green") && !("FARE_AMOUNT" in ride(1000, "green")));
});
