SELECT vendor, COUNT(*) AS trips
FROM {{ ref("rides") }} WINDOW TUMBLING (SIZE 1 MINUTE)
GROUP BY vendor
