# ruff: noqa: E501 (the lines of the texts are as long as they are in real results)
# fmt: off
"""Written answers of services in JSON, the same on every run."""

from __future__ import annotations

import hashlib
import json
from random import Random
from typing import Any


def _digest(text: str, length: int = 12) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:length]


def _print(value: object, indent: int | None = 2) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False) + "\n"


def write_plan() -> str:
    """Return an infrastructure plan as `terraform show -json` prints it."""
    rows: tuple[tuple[str, str, list[str], dict[str, Any], dict[str, Any]], ...] = (
        ("aws_db_instance.orders", "aws_db_instance", ["delete", "create"],
         {"engine_version": "15.8", "instance_class": "db.m6g.large", "storage_encrypted": False, "backup_retention_period": 7},
         {"engine_version": "16.9", "instance_class": "db.m7g.large", "storage_encrypted": True, "backup_retention_period": 7}),
        ("aws_s3_bucket_lifecycle_configuration.raw", "aws_s3_bucket_lifecycle_configuration", ["update"],
         {"rule": [{"id": "cold", "transition": [{"days": 90, "storage_class": "GLACIER"}]}]},
         {"rule": [{"id": "cold", "transition": [{"days": 35, "storage_class": "GLACIER_IR"}]}]}),
        ("aws_security_group_rule.ssh_in", "aws_security_group_rule", ["delete"],
         {"type": "ingress", "from_port": 22, "to_port": 22, "cidr_blocks": ["198.51.100.0/24"], "description": "old jump host"}, {}),
        ("aws_lambda_function.thumbnailer", "aws_lambda_function", ["update"],
         {"runtime": "python3.9", "memory_size": 512, "timeout": 30, "reserved_concurrent_executions": -1},
         {"runtime": "python3.13", "memory_size": 1769, "timeout": 30, "reserved_concurrent_executions": 12}),
        ("aws_route53_record.status", "aws_route53_record", ["create"],
         {}, {"name": "status.parcels.example", "type": "CNAME", "ttl": 45, "records": ["pages.uptime.example"]}),
        ("aws_iam_role_policy.reporter", "aws_iam_role_policy", ["no-op"],
         {"policy": "{\"Action\":[\"athena:StartQueryExecution\",\"s3:GetObject\"],\"Effect\":\"Allow\"}"},
         {"policy": "{\"Action\":[\"athena:StartQueryExecution\",\"s3:GetObject\"],\"Effect\":\"Allow\"}"}),
        ("aws_sqs_queue.labels", "aws_sqs_queue", ["update"],
         {"visibility_timeout_seconds": 30, "message_retention_seconds": 345600, "redrive_policy": "{\"maxReceiveCount\":3}"},
         {"visibility_timeout_seconds": 210, "message_retention_seconds": 345600, "redrive_policy": "{\"maxReceiveCount\":3}"}),
    )
    changes: list[dict[str, Any]] = []
    for address, kind, actions, before, after in rows:
        tags = {"team": "parcels", "managed-by": "terraform", "cost-center": f"cc-{_digest(address, 4)}"}
        change: dict[str, Any] = {
            "actions": actions,
            "before": {**before, "id": _digest(address), "tags": tags} if before else None,
            "after": {**after, "tags": tags} if after else None,
            "after_unknown": {"id": True, "arn": True} if "create" in actions else {},
            "before_sensitive": False,
            "after_sensitive": {},
        }
        if actions == ["delete", "create"]:
            change["replace_paths"] = [["storage_encrypted"]]
        entry: dict[str, Any] = {
            "address": address,
            "mode": "managed",
            "type": kind,
            "name": address.split(".")[1],
            "provider_name": "registry.terraform.io/hashicorp/aws",
            "change": change,
        }
        if address.endswith("ssh_in"):
            entry["action_reason"] = "delete_because_no_resource_config"
        changes.append(entry)
    drift = {
        "address": "aws_autoscaling_group.sorters",
        "type": "aws_autoscaling_group",
        "change": {"actions": ["update"], "before": {"desired_capacity": 4, "max_size": 10}, "after": {"desired_capacity": 9, "max_size": 10}},
    }
    checks = [
        {"address": {"to_display": "check.certificate"}, "status": "fail",
         "instances": [{"status": "fail", "problems": [{"message": "certificate of tracking.parcels.example has 11 days left, 21 are required"}]}]},
        {"address": {"to_display": "check.bucket_is_private"}, "status": "pass", "instances": [{"status": "pass"}]},
    ]
    return _print(
        {"format_version": "1.2", "terraform_version": "1.13.4", "resource_drift": [drift], "resource_changes": changes,
         "checks": checks, "timestamp": "2026-06-09T19:02:44Z", "applyable": True, "complete": True, "errored": False}
    )


def write_health_records() -> str:
    """Return a patient's records as a hospital's interface hands them out."""
    coded = (
        ("718-7", "Hemoglobin", 10.9, "g/dL", "L"), ("2160-0", "Creatinine", 0.94, "mg/dL", "N"), ("2823-3", "Potassium", 5.6, "mmol/L", "H"),
        ("6690-2", "Leukocytes", 7.2, "10*3/uL", "N"), ("4548-4", "Hemoglobin A1c", 7.8, "%", "H"), ("1742-6", "ALT", 31, "U/L", "N"),
        ("2951-2", "Sodium", 139, "mmol/L", "N"), ("777-3", "Platelets", 214, "10*3/uL", "N"),
    )
    entries: list[dict[str, Any]] = [
        {"resourceType": "Patient", "id": "p-30417", "active": True, "name": [{"family": "Okonjo", "given": ["Ruth", "Adaeze"]}],
         "birthDate": "1957-11-02", "communication": [{"language": {"coding": [{"code": "ig", "display": "Igbo"}]}, "preferred": True}],
         "contact": [{"relationship": [{"text": "daughter"}], "name": {"text": "Ngozi Okonjo"}, "telecom": [{"system": "phone", "value": "+44 7700 900341"}]}]},
        {"resourceType": "AllergyIntolerance", "id": "al-1", "criticality": "high", "code": {"coding": [{"system": "http://snomed.info/sct", "code": "372687004", "display": "Amoxicillin"}]},
         "reaction": [{"manifestation": [{"text": "angioedema"}], "onset": "2011-04", "severity": "severe"}]},
        {"resourceType": "AllergyIntolerance", "id": "al-2", "criticality": "low", "code": {"coding": [{"system": "http://snomed.info/sct", "code": "111088007", "display": "Latex"}]},
         "reaction": [{"manifestation": [{"text": "contact dermatitis"}], "severity": "mild"}]},
        {"resourceType": "MedicationRequest", "id": "mr-7", "status": "active", "medicationCodeableConcept": {"text": "Metformin 850 mg"},
         "dosageInstruction": [{"text": "one tablet with breakfast and dinner"}]},
        {"resourceType": "MedicationRequest", "id": "mr-8", "status": "stopped", "statusReason": {"text": "dry cough for six weeks"},
         "medicationCodeableConcept": {"text": "Ramipril 5 mg"}, "dosageInstruction": [{"text": "once daily"}]},
        {"resourceType": "MedicationRequest", "id": "mr-9", "status": "on-hold", "statusReason": {"text": "surgery on 2026-06-18"},
         "medicationCodeableConcept": {"text": "Apixaban 5 mg"}, "dosageInstruction": [{"text": "twice daily"}]},
    ]
    entries += [
        {"resourceType": "Observation", "id": f"ob-{number}", "status": "final", "category": [{"coding": [{"code": "laboratory"}]}],
         "code": {"coding": [{"system": "http://loinc.org", "code": code, "display": name}]}, "subject": {"reference": "Patient/p-30417"},
         "effectiveDateTime": f"2026-06-0{number % 7 + 1}T07:4{number % 6}:00+01:00", "valueQuantity": {"value": value, "unit": unit},
         "interpretation": [{"coding": [{"code": flag}]}],
         **({"note": [{"text": "specimen was slightly hemolysed, repeat before acting on it"}]} if name == "Potassium" else {})}
        for number, (code, name, value, unit, flag) in enumerate(coded)
    ]
    bundle = {
        "resourceType": "Bundle",
        "type": "searchset",
        "total": len(entries),
        "entry": [
            {"fullUrl": f"https://fhir.hospital.example/r4/{entry['resourceType']}/{entry['id']}", "resource": entry, "search": {"mode": "match"}}
            for entry in entries
        ],
    }
    return _print(bundle)


def write_search_hits() -> str:
    """Return the answer of a full-text search over workshop manuals."""
    pages = (
        ("hx4-manual", 212, "Bleeding the hydraulic circuit", "Open valve B a quarter turn and pump until no bubbles show. Never reuse the drained oil.", 18.42),
        ("hx4-manual", 88, "Tightening torques", "Tighten the four cylinder head bolts crosswise to 62 Nm, then turn each by another 90 degrees.", 17.03),
        ("hx4-bulletin-19", 2, "Noise at low temperature", "Below -12 °C use oil HV-22; the rattling of the feed pump ends after about three minutes.", 16.88),
        ("hx3-manual", 140, "Replacing the seat switch", "The machine starts only if the switch reads less than 4 ohm with a person seated.", 12.17),
        ("hx4-parts", 31, "Seals and gaskets", "Kit 7741-K contains the shaft seal, two O-rings and the copper washer.", 11.95),
        ("hx4-manual", 15, "Safety", "Wait 8 minutes after switching off before opening the accumulator cover.", 9.60),
        ("hx4-bulletin-22", 1, "Recall of brake hoses", "Hoses with batch marks 24C to 24F can swell. They are replaced free of charge until 31 March 2027.", 8.71),
        ("hx2-manual", 64, "Winter storage", "Charge the battery to 80 percent and disconnect the negative terminal.", 6.02),
        ("hx4-errors", 5, "Error codes of the controller", "E47: the angle sensor of the boom disagrees with the joystick for more than 0.4 s.", 5.88),
    )
    hits = [
        {
            "_index": "manuals-2026.05",
            "_id": _digest(title, 20),
            "_score": score,
            "_source": {
                "document": document,
                "page": page,
                "title": title,
                "text": text,
                "language": "en",
                "revision": f"{page % 5 + 1}.{page % 3}",
                "acl": ["workshop", "dealer"] if document != "hx4-errors" else ["factory"],
                "embedding": {"model": "m-384", "norm": round(1 + page / 10000, 4), "sha": _digest(text, 32)},
            },
            "highlight": {"text": [text.replace("oil", "<em>oil</em>").replace("seal", "<em>seal</em>")]},
            "sort": [score, page],
        }
        for document, page, title, text, score in pages
    ]
    answer = {
        "took": 37,
        "timed_out": False,
        "_shards": {
            "total": 6, "successful": 5, "skipped": 0, "failed": 1,
            "failures": [{"shard": 4, "index": "manuals-2026.05", "node": "n-" + _digest("n", 8),
                          "reason": {"type": "circuit_breaking_exception", "reason": "data for [fielddata] would be 1.9gb, larger than the limit of 1.6gb"}}],
        },
        "hits": {"total": {"value": 412, "relation": "gte"}, "max_score": 18.42, "hits": hits},
        "aggregations": {
            "by_document": {"buckets": [{"key": name, "doc_count": count} for name, count in (("hx4-manual", 233), ("hx3-manual", 91), ("hx4-parts", 47))]}
        },
        "suggest": {"spelling": [{"text": "hidraulic", "options": [{"text": "hydraulic", "score": 0.91, "freq": 512}]}]},
    }
    return _print(answer)


def write_map_features() -> str:
    """Return the features of a town's map layer, one object a feature."""
    random = Random(52)
    special: dict[int, dict[str, Any]] = {
        6: {"kind": "ford", "name": "Millers Crossing", "max_depth_cm": 35, "closed": "Nov-Mar"},
        13: {"kind": "bridge", "name": "Old Ropeworks Bridge", "max_weight_t": 7.5, "note": "one lane, cyclists dismount"},
        21: {"kind": "gate", "name": "Quarry Gate", "operator": "Forest Office", "access": "key at the fire station"},
        28: {"kind": "tunnel", "name": "Castle Tunnel", "max_height_m": 2.1, "lit": False},
        34: {"kind": "hydrant", "name": "H-118", "flow_l_min": 400, "defect": "cap frozen, reported 2026-02-11"},
        41: {"kind": "charger", "name": "Market Hall", "sockets": 3, "power_kw": 22, "fee": "0.41 EUR/kWh"},
    }
    features: list[dict[str, Any]] = []
    for number in range(48):
        kind = random.choice(("bench", "tree", "lamp", "bin", "stop", "hydrant"))
        properties: dict[str, Any] = {"kind": kind, "name": f"{kind[0].upper()}-{100 + number}", "checked": f"2025-{random.randint(1, 12):02d}-{random.randint(1, 28):02d}"}
        if kind == "tree":
            properties |= {"species": random.choice(("Tilia cordata", "Acer campestre", "Quercus robur")), "girth_cm": random.randint(40, 260)}
        if kind == "lamp":
            properties |= {"watts": random.choice((18, 24, 36)), "dimmed": "23:00-05:00"}
        features.append(
            {
                "type": "Feature",
                "id": f"way/{random.randint(10**8, 10**9)}",
                "geometry": {"type": "Point", "coordinates": [round(15.42 + random.uniform(0, 0.05), 6), round(47.06 + random.uniform(0, 0.04), 6)]},
                "properties": special.get(number, properties),
            }
        )
    lines = ",\n".join("    " + json.dumps(feature, ensure_ascii=False) for feature in features)
    return '{\n  "type": "FeatureCollection",\n  "name": "street_furniture",\n  "features": [\n' + lines + "\n  ]\n}\n"


def write_spans() -> str:
    """Return the spans of one slow request, as a tracing backend exports them."""
    rows = (
        ("POST /v2/quotes", "gateway", 0, 6120, {"http.response.status_code": 504, "client.address": "10.8.3.4", "enduser.plan": "fleet"}),
        ("authenticate", "gateway", 2, 11, {"auth.scheme": "mtls", "auth.subject": "CN=route-planner"}),
        ("GET cache:quote", "gateway", 14, 2, {"db.system": "valkey", "cache.hit": False}),
        ("Quote/Create", "pricing", 18, 6098, {"rpc.system": "grpc", "rpc.grpc.status_code": 4}),
        ("SELECT tariffs", "pricing", 25, 48, {"db.system": "postgresql", "db.response.returned_rows": 212}),
        ("geocode", "pricing", 80, 5400, {"server.address": "geo.vendor.example", "http.request.resend_count": 3}),
        ("GET /v1/search", "pricing", 82, 1800, {"http.response.status_code": 503, "retry.reason": "upstream overloaded"}),
        ("GET /v1/search", "pricing", 1890, 1800, {"http.response.status_code": 503, "retry.reason": "upstream overloaded"}),
        ("GET /v1/search", "pricing", 3700, 1780, {"error.type": "deadline exceeded", "thread.name": "geo-pool-2"}),
        ("evaluate rules", "pricing", 5490, 310, {"rules.version": "2026-06-02", "rules.matched": 17, "rules.slowest": "alpine-winter-surcharge"}),
        ("publish quote.failed", "pricing", 5810, 12, {"messaging.system": "nats", "messaging.destination.name": "quotes.dead"}),
        ("write audit", "audit", 5825, 190, {"db.system": "clickhouse", "audit.retention_days": 400}),
    )
    start = 1_781_039_645_000_000_000
    spans: list[dict[str, Any]] = []
    for number, (name, service, begin_ms, length_ms, attributes) in enumerate(rows):
        failed = "error.type" in attributes or attributes.get("http.response.status_code") == 504
        events: list[dict[str, Any]] = []
        if name == "evaluate rules":
            events = [{"name": "rule skipped", "attributes": {"rule": "weekend-rebate", "because": "customer has no contract before 2024"}}]
        if "error.type" in attributes:
            events = [{"name": "exception", "attributes": {"exception.message": "no reply from 203.0.113.88:443 within 1750 ms"}}]
        spans.append(
            {
                "traceId": _digest("trace", 32),
                "spanId": _digest(f"span{number}", 16),
                "parentSpanId": _digest(f"span{(0, 0, 0, 0, 3, 3, 5, 5, 5, 3, 3, 10)[number]}", 16) if number else "",
                "name": name,
                "kind": "SPAN_KIND_CLIENT" if "db.system" in attributes else "SPAN_KIND_INTERNAL",
                "startTimeUnixNano": str(start + begin_ms * 1_000_000),
                "endTimeUnixNano": str(start + (begin_ms + length_ms) * 1_000_000),
                "resource": {"service.name": service, "service.version": f"4.{number % 3}.{number}", "host.name": f"{service}-{_digest(service, 5)}"},
                "attributes": [{"key": key, "value": {"stringValue": str(value)}} for key, value in attributes.items()],
                "events": events,
                "status": {"code": "STATUS_CODE_ERROR"} if failed else {},
            }
        )
    return _print({"resourceSpans": [{"scopeSpans": [{"scope": {"name": "auto", "version": "0.61.0"}, "spans": spans}]}]})
