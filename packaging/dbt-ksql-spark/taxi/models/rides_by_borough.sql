{{ config(evolve="backfill") }}
SELECT z.borough AS borough, COUNT(*) AS trips, SUM(r.amount) AS revenue
FROM {{ ref("rides") }} r
JOIN {{ ref("zones") }} z ON r.zone_id = z.location_id
GROUP BY z.borough
