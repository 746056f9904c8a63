SELECT vendor, COUNT(*) AS trips, SUM(amount) AS revenue
FROM {{ ref("rides") }}
GROUP BY vendor
