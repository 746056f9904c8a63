{{ config(materialized="stream") }}
SELECT * FROM {{ ref("rides") }} WHERE amount >= 40
