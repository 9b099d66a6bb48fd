"""The framework of the API: operations, routing, parameters, bodies, problems, OpenAPI.

Operations, pages and the service use it as `contract.operation`, `contract.Call` and so on.
"""

from octavo_rules.schema_base import Identifier, ListPage, Timestamp, written_time

from octavo.http.contract.application import Application, ProblemHtml, report_refusal
from octavo.http.contract.assembly import contract_of, served_operations_of
from octavo.http.contract.bodies.body import (
    BYTES,
    BodyStream,
    ClientLeft,
    Headers,
    body_head,
    check_closed,
    declared_size,
    parse_media_type,
    raw_body,
    whole_body,
)
from octavo.http.contract.bodies.form import FORM_MEDIA_TYPE, form_body, parse_form
from octavo.http.contract.bodies.json_body import JsonBody, json_body
from octavo.http.contract.bodies.multipart import MultipartStream, Part, PartBounds, multipart_body
from octavo.http.contract.call import (
    Authenticator,
    Call,
    EncodedJson,
    HtmlPage,
    NoBytes,
    NotModified,
    Principal,
    Reply,
    Stream,
    encoded_json,
    remote_address_of,
)
from octavo.http.contract.contract_model import (
    IN_PATH,
    LATEST,
    REMOVED,
    WHOLE,
    ChosenIdentifier,
    GivenBytes,
    GivenTime,
    HeaderModel,
    Model,
    Removed,
    milliseconds_of,
    timestamp,
)
from octavo.http.contract.declared_responses import OUTSIDE_OPERATIONS, possible_problems
from octavo.http.contract.error_format import MCP_ERROR, OAUTH_ERROR, RPC_MEMBER
from octavo.http.contract.in_process import (
    OF_PAGE,
    Api,
    Perform,
    PerformAs,
    Performed,
    api_as,
    typed,
)
from octavo.http.contract.memory_budget import COUNTED, MemoryBudget, Reservation, reservation_of
from octavo.http.contract.openapi import AnyProblem, Example, Json, openapi_document
from octavo.http.contract.operation import Locked, Security, operation
from octavo.http.contract.paging import (
    IN_DIGITS,
    Limit,
    PageQuery,
    cursor,
    page_by_id,
    read_cursor,
    split_page,
)
from octavo.http.contract.parameters import require_no_query
from octavo.http.contract.prepared_response import (
    PAGE_HEADERS,
    READING_HEADERS,
    WEBSOCKET_EVENTS,
    prepared_problem,
)
from octavo.http.contract.renewed_time import RenewedTime
from octavo.http.contract.request_context import (
    RequestContext,
    RequestLog,
    RequestRecord,
    request_log,
)
from octavo.http.contract.slices import converted
