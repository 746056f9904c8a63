// The taxi story's zones and rides, with the columns of the streams in examples/taxi.

/** Some of the city's zones, and how often rides begin there. */
const ZONES = [
  [132, "Queens", "JFK Airport", "Airports", 9], [138, "Queens", "LaGuardia Airport", "Airports", 6],
  [161, "Manhattan", "Midtown Center", "Yellow Zone", 10], [162, "Manhattan", "Midtown East", "Yellow Zone", 8],
  [230, "Manhattan", "Times Sq/Theatre District", "Yellow Zone", 8], [237, "Manhattan", "Upper East Side South", "Yellow Zone", 10],
  [79, "Manhattan", "East Village", "Yellow Zone", 7], [48, "Manhattan", "Clinton East", "Yellow Zone", 6],
  [74, "Manhattan", "East Harlem North", "Boro Zone", 3], [41, "Manhattan", "Central Harlem", "Boro Zone", 2],
  [181, "Brooklyn", "Park Slope", "Boro Zone", 2], [7, "Queens", "Astoria", "Boro Zone", 2],
] as const;
const WEIGHT = ZONES.reduce((all, zone) => all + zone[4], 0);

type Row = Record<string, string | number>;

export function zoneRows(): Row[] {
  return ZONES.map(([id, borough, name, service]) => ({ LOCATIONID: id, BOROUGH: borough, ZONE: name, SERVICE_ZONE: service }));
}

/** A ride that begins now; `random` as Math.random. */
export function ride(nowMs: number, colour: "yellow" | "green", random: () => number = Math.random): Row {
  const begin = zone(random);
  const end = zone(random);
  const isFar = begin[3] === "Airports" || end[3] === "Airports";
  const miles = round((isFar ? 8 : 1) + random() * (isFar ? 10 : 4));
  const minutes = Math.max(2, (miles / (10 + miles)) * 60);
  const fare = round(3 + 3.5 * miles);
  const tip = random() < 0.75 ? round(fare * 0.2) : 0;
  const common = {
    VENDORID: random() < 0.28 ? 1 : 2, PULOCATIONID: begin[0], DOLOCATIONID: end[0],
    TRIP_DISTANCE: miles, TOTAL_AMOUNT: round(fare + tip + 4.5),
  };
  const endMs = nowMs + Math.round(minutes * 60_000);
  if (colour === "green") return { ...common, LPEP_PICKUP_DATETIME: nowMs, LPEP_DROPOFF_DATETIME: endMs };
  return {
    ...common, TPEP_PICKUP_DATETIME: nowMs, TPEP_DROPOFF_DATETIME: endMs,
    PASSENGER_COUNT: random() < 0.74 ? 1 : 2, FARE_AMOUNT: fare, TIP_AMOUNT: tip,
  };
}

function zone(random: () => number) {
  let left = random() * WEIGHT;
  return ZONES.find((one) => (left -= one[4]) < 0) ?? ZONES[0];
}

function round(amount: number): number {
  return Math.round(amount * 100) / 100;
}
