//! The description against the routes, the contract, the codes and the forms.

mod fits;
mod replies;

pub(crate) use self::replies::held;

use self::fits::fits;
use kernel::code::Code;
use serde::de::DeserializeOwned;
use serde_json::{Value, from_value, json};
use server::auth::Scope;
use server::http::middleware::error::status;
use server::http::pages::openapi::description;
use std::collections::BTreeSet;

/// The contract's list for this release.
pub(crate) const SPEC: &[(&str, &str)] = &[
    ("delete", "/api/v1/ops/pauses/{id}"),
    ("delete", "/api/v1/webhooks/{id}"),
    ("get", "/api/transfers"),
    ("get", "/api/transfers/{transferId}"),
    ("get", "/api/v1/balances"),
    ("get", "/api/v1/cases"),
    ("get", "/api/v1/cases/{id}"),
    ("get", "/api/v1/internal_transfer/{req_id}"),
    ("get", "/api/v1/internal_transfers"),
    ("get", "/api/v1/ops/accounts"),
    ("get", "/api/v1/ops/accounts/pipeline"),
    ("get", "/api/v1/ops/accounts/pipeline/{number}"),
    ("get", "/api/v1/ops/approvals"),
    ("get", "/api/v1/ops/assets"),
    ("get", "/api/v1/ops/audit"),
    ("get", "/api/v1/ops/audit/seals"),
    ("get", "/api/v1/ops/audit/verify"),
    ("get", "/api/v1/ops/chains/{chain}"),
    ("get", "/api/v1/ops/conservation"),
    ("get", "/api/v1/ops/dlt/{topic}"),
    ("get", "/api/v1/ops/halts"),
    ("get", "/api/v1/ops/movements"),
    ("get", "/api/v1/ops/pauses"),
    ("get", "/api/v1/ops/pipeline"),
    ("get", "/api/v1/ops/pipeline/export"),
    ("get", "/api/v1/ops/pipeline/parked"),
    ("get", "/api/v1/ops/relay/keys"),
    ("get", "/api/v1/ops/vaults"),
    ("get", "/api/v1/stats"),
    ("get", "/api/v1/transfer/{req_id}"),
    ("get", "/api/v1/transfers"),
    ("get", "/api/v1/transfers/{id}"),
    ("get", "/api/v1/webhooks"),
    ("get", "/api/v1/webhooks/{id}"),
    ("get", "/api/v1/webhooks/{id}/deliveries"),
    ("get", "/docs"),
    ("get", "/docs/errors"),
    ("get", "/docs/errors/{code}"),
    ("get", "/docs/try.js"),
    ("get", "/health"),
    ("get", "/livez"),
    ("get", "/metrics"),
    ("get", "/openapi.json"),
    ("get", "/readyz"),
    ("get", "/transfer/{key}"),
    ("patch", "/api/v1/ops/assets/{symbol}"),
    ("patch", "/api/v1/webhooks/{id}"),
    ("post", "/api/transfers"),
    ("post", "/api/v1/cases/{id}/assign"),
    ("post", "/api/v1/cases/{id}/comment"),
    ("post", "/api/v1/internal_transfer"),
    ("post", "/api/v1/internal_transfers"),
    ("post", "/api/v1/ops/accounts/pipeline"),
    ("post", "/api/v1/ops/accounts/pipeline/{number}/deposits"),
    ("post", "/api/v1/ops/accounts/pipeline/{number}/status"),
    ("post", "/api/v1/ops/accounts/pipeline/{number}/withdrawals"),
    ("post", "/api/v1/ops/accounts/{user}/{type}/status"),
    ("post", "/api/v1/ops/approvals/{id}/approve"),
    ("post", "/api/v1/ops/approvals/{id}/reject"),
    ("post", "/api/v1/ops/assets"),
    ("post", "/api/v1/ops/backup"),
    ("post", "/api/v1/ops/deposits"),
    ("post", "/api/v1/ops/dlt/{topic}/redrive"),
    ("post", "/api/v1/ops/halt"),
    ("post", "/api/v1/ops/outbox/reemit"),
    ("post", "/api/v1/ops/pauses"),
    ("post", "/api/v1/ops/pipeline/parked/unpark"),
    ("post", "/api/v1/ops/pipeline/seek"),
    ("post", "/api/v1/ops/relay/keys/{key}/prove-gone"),
    ("post", "/api/v1/ops/relay/keys/{key}/retire"),
    ("post", "/api/v1/ops/resume"),
    ("post", "/api/v1/ops/transfers/{action}"),
    ("post", "/api/v1/ops/transfers/{id}/ask"),
    ("post", "/api/v1/ops/transfers/{id}/notes"),
    ("post", "/api/v1/ops/transfers/{id}/pause"),
    ("post", "/api/v1/ops/transfers/{id}/release"),
    ("post", "/api/v1/ops/transfers/{id}/resolve"),
    ("post", "/api/v1/ops/transfers/{id}/resume"),
    ("post", "/api/v1/ops/transfers/{id}/retry"),
    ("post", "/api/v1/ops/vaults/{chain}/withdrawals/{transaction}/accept"),
    ("post", "/api/v1/ops/withdrawals"),
    ("post", "/api/v1/transfer"),
    ("post", "/api/v1/webhooks"),
    ("post", "/api/v1/webhooks/{id}/deliveries/{number}/resend"),
    ("post", "/api/v1/webhooks/{id}/replay"),
    ("post", "/api/v1/webhooks/{id}/rotate"),
    ("post", "/api/v1/webhooks/{id}/test"),
    ("post", "/transfer"),
    ("post", "/transfers"),
];

type Read = fn(Value) -> bool;

/// Every form that is sent to us, read as its route reads it.
const FORMS: &[(&str, Read)] = &[
    ("CreateTransfer", reads::<api::transfers::CreateTransfer>),
    ("CreateAccountTransfer", reads::<api::account_transfers::CreateAccountTransfer>),
    ("CreateTransfers", reads::<api::batch::CreateTransfers>),
    ("CreateV2", reads::<api::transfers_v2::CreateV2>),
    ("CreateRelayTransfer", reads::<api::relay::CreateRelayTransfer>),
    ("CreateRelayTransfers", reads::<api::relay::CreateRelayTransfers>),
    ("Movement", reads::<api::movements::Movement>),
    ("NumberedMovement", reads::<api::movements::NumberedMovement>),
    ("OpenNumberedAccount", reads::<api::admin::numbered_accounts::OpenNumberedAccount>),
    ("SetNumberedStatus", reads::<api::admin::numbered_accounts::SetNumberedStatus>),
    ("NewBackup", reads::<api::backup::NewBackup>),
    ("SetStatus", reads::<api::accounts::SetStatus>),
    ("ReasonBody", reads::<api::admin::actions::ReasonBody>),
    ("Resolve", reads::<api::admin::transfer_actions::Resolve>),
    ("NewTransferNote", reads::<api::admin::transfer_actions::NewTransferNote>),
    ("TransferActions", reads::<api::admin::transfer_actions::TransferActions>),
    ("Resume", reads::<api::admin::halts::Resume>),
    ("Unpark", reads::<api::admin::pipeline::Unpark>),
    ("SeekGroup", reads::<api::admin::pipeline::SeekGroup>),
    ("Reemit", reads::<api::admin::pipeline::Reemit>),
    ("RedriveDeadLetters", reads::<api::admin::pipeline::RedriveDeadLetters>),
    ("NewPause", reads::<api::admin::pauses::NewPause>),
    ("AddAsset", reads::<api::admin::assets::AddAsset>),
    ("ChangeAsset", reads::<api::admin::assets::ChangeAsset>),
    ("Assign", reads::<api::admin::cases::Assign>),
    ("Comment", reads::<api::admin::cases::Comment>),
    ("AddWebhook", reads::<api::admin::webhooks::AddWebhook>),
    ("ChangeWebhook", reads::<api::admin::webhooks::ChangeWebhook>),
    ("RotateWebhook", reads::<api::admin::webhooks::RotateWebhook>),
    ("ReplayWebhook", reads::<api::admin::webhooks::ReplayWebhook>),
];

fn reads<T: DeserializeOwned>(value: Value) -> bool {
    from_value::<T>(value).is_ok()
}

fn operations() -> Vec<(String, String, &'static Value)> {
    let mut found = Vec::new();
    for (path, methods) in description()["paths"].as_object().unwrap() {
        for (method, about) in methods.as_object().unwrap() {
            found.push((method.clone(), path.clone(), about));
        }
    }
    found.sort_by(|a, b| (&a.0, &a.1).cmp(&(&b.0, &b.1)));
    found
}

fn schemas() -> &'static Value {
    &description()["components"]["schemas"]
}

/// Every form inside a value, however deep.
fn objects<'a>(value: &'a Value, found: &mut Vec<&'a Value>) {
    if value["type"] == "object"
        || value["type"].as_array().is_some_and(|t| t.contains(&json!("object")))
    {
        found.push(value);
    }
    match value {
        Value::Array(all) => all.iter().for_each(|one| objects(one, found)),
        Value::Object(all) => all.values().for_each(|one| objects(one, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => (),
    }
}

#[test]
fn routes_and_description_and_contract_are_one_list() {
    let found = operations();
    let found: Vec<_> = found.iter().map(|(m, p, _)| (m.as_str(), p.as_str())).collect();
    assert_eq!(found, SPEC);
}

#[test]
fn every_operation_is_whole() {
    let mut names = BTreeSet::new();
    let tags = description()["tags"].as_array().unwrap();
    let scopes = Scope::ALL.map(Scope::name);
    for (method, path, about) in operations() {
        let at = format!("{method} {path}");
        let name = about["operationId"].as_str().unwrap();
        assert!(name.contains('_') && names.insert(name), "{at}: `{name}` is no name of its own");
        assert!(about["summary"].as_str().is_some_and(|text| text.len() > 5), "{at}");
        let [tag] = &about["tags"].as_array().unwrap()[..] else { panic!("{at}: one tag") };
        assert!(tags.iter().any(|known| known["name"] == *tag), "{at}: {tag}");
        let security = about["security"].as_array().unwrap_or_else(|| panic!("{at}: its scope"));
        for way in security.iter().filter_map(|way| way.get("token")) {
            let asked = way.as_array().unwrap();
            assert!(!asked.is_empty(), "{at}: its scope");
            for scope in asked {
                assert!(scopes.contains(&scope.as_str().unwrap()), "{at}: {scope}");
            }
        }
        for parameter in about["parameters"].as_array().into_iter().flatten() {
            let about = parameter["description"].as_str().unwrap_or_default();
            assert!(about.len() > 3, "{at}: parameter {}", parameter["name"]);
        }
        let places = path.matches('{').count();
        let given = about["parameters"].as_array().into_iter().flatten();
        assert_eq!(places, given.filter(|one| one["in"] == "path").count(), "{at}");
    }
}

#[test]
fn every_answer_has_a_status_a_sentence_and_an_example_that_fits() {
    for (method, path, about) in operations() {
        for (number, response) in about["responses"].as_object().unwrap() {
            let at = format!("{method} {path} {number}");
            assert!(number.parse::<u16>().is_ok_and(|n| (200..600).contains(&n)), "{at}");
            assert!(response["description"].as_str().is_some_and(|text| text.len() > 3), "{at}");
            for (media, content) in response["content"].as_object().unwrap() {
                let mut examples: Vec<&Value> = content.get("example").into_iter().collect();
                let more = content["examples"].as_object().into_iter().flatten();
                examples.extend(more.map(|(_, example)| &example["value"]));
                assert!(
                    !examples.is_empty(),
                    "{at}: give each field of {} an example, there or in examples.rs",
                    content["schema"]
                );
                for example in examples {
                    let fault = fits(example, &content["schema"], schemas());
                    assert_eq!(fault, Ok(()), "{at} {media}");
                }
            }
            assert!(response["content"].as_object().unwrap().len() == 1, "{at}");
        }
    }
}

#[test]
fn the_codes_of_an_answer_have_its_status() {
    let mut named = BTreeSet::new();
    for (method, path, about) in operations() {
        for (number, response) in about["responses"].as_object().unwrap() {
            let content = response["content"]["application/json"].clone();
            for (code, _) in content["examples"].as_object().into_iter().flatten() {
                let code = Code::parse(code).unwrap();
                assert_eq!(status(code).as_str(), number, "{method} {path}: {code}");
                named.insert(code.name());
            }
        }
    }
    // it answers where there is no such route
    let elsewhere = ["METHOD_NOT_ALLOWED"];
    for code in Code::ALL {
        let code = code.name();
        let known = named.contains(code) || elsewhere.contains(&code);
        assert!(known, "{code} is in no answer of any route");
    }
    assert_eq!(
        schemas()["Problem"]["properties"]["code"]["enum"].as_array().unwrap().len(),
        Code::ALL.len()
    );
}

/// Forms are listed by name alone: of two with one name the description would keep either.
#[test]
fn no_two_forms_share_a_name() {
    let own = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = ["src/http", "../api/src"].map(|folder| own.join(folder)).to_vec();
    let mut names = BTreeSet::new();
    while let Some(folder) = folders.pop() {
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            for form in text.split("ToSchema)]").skip(1) {
                let words = form.split_whitespace();
                let name = words.skip_while(|word| !["struct", "enum"].contains(word)).nth(1);
                let name = name.unwrap().trim_end_matches(['<', '{']).to_owned();
                assert!(names.insert(name.clone()), "{}: another `{name}`", path.display());
            }
        }
    }
    // what actions come to has one form for each outcome, made of one enum
    let forms = schemas().as_object().unwrap().keys().filter(|name| !name.starts_with("Done"));
    assert!(names.len() >= forms.count(), "{names:?}");
}

#[test]
fn every_form_that_is_sent_to_us_reads_its_own_example() {
    let mut sent = BTreeSet::new();
    for (method, path, about) in operations() {
        let content = &about["requestBody"]["content"];
        for (media, body) in content.as_object().into_iter().flatten() {
            let at = format!("{method} {path}");
            assert_eq!(media, "application/json", "{at}");
            let name = body["schema"]["$ref"].as_str().unwrap().rsplit('/').next().unwrap();
            assert_eq!(fits(&body["example"], &body["schema"], schemas()), Ok(()), "{at}");
            let form = FORMS.iter().find(|(form, _)| *form == name);
            let (_, reads) = form.unwrap_or_else(|| panic!("{at}: `{name}` is not in FORMS"));
            assert!(reads(body["example"].clone()), "{at}: {}", body["example"]);
            let mut more = body["example"].clone();
            more["no_such_field"] = json!(1);
            assert!(!reads(more), "{at}: takes unknown fields");
            sent.insert(name);
        }
    }
    assert_eq!(sent.len(), FORMS.len());
}

#[test]
fn every_reference_leads_somewhere_and_every_form_is_closed() {
    let api = description();
    let text = api.to_string();
    for part in text.split("#/components/schemas/").skip(1) {
        let name = part.split('"').next().unwrap();
        assert!(schemas().get(name).is_some(), "{name}");
    }
    for (name, schema) in schemas().as_object().unwrap() {
        let mut found = Vec::new();
        objects(schema, &mut found);
        for object in found {
            // a form is closed, or says what else it holds
            let rest = &object["additionalProperties"];
            assert!(*rest == false || rest["type"].is_string(), "{name}: {object}");
        }
        assert!(schema.get("allOf").is_none(), "{name}");
        assert!(schema["description"].is_string(), "{name}");
        // of an alternative without a name generators of clients make broken code
        let mut either = schema["oneOf"].as_array().into_iter().flatten();
        assert!(either.all(|one| one["type"] != "object"), "{name}");
        assert!(text.contains(&format!("\"#/components/schemas/{name}\"")), "{name}: unused");
        for (field, about) in schema["properties"].as_object().into_iter().flatten() {
            assert!(about.to_string().len() > 20, "{name}.{field}");
        }
    }
    // each action says which of the results it has
    for (method, path, about) in operations() {
        for (status, response) in about["responses"].as_object().unwrap() {
            let result = &response["content"]["application/json"]["schema"]["$ref"];
            assert_ne!(result, "#/components/schemas/Done", "{method} {path} {status}");
        }
    }
    assert_eq!(api["components"]["securitySchemes"]["token"]["scheme"], "bearer");
    assert_eq!(api["servers"][0]["url"], "/");
    assert_eq!(api["webhooks"].as_object().map(|all| all.len()), Some(3));
    assert!(!text.contains("\"default\":{"), "no answer without a status");
}
