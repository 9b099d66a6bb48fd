"""The framework of the API: operations, routing, parameters, bodies, problems, OpenAPI.

Operations, pages and the service use it as `contract.operation`, `contract.Call` and so on.
"""

from octavo.http.contract.application import Application, ProblemHtml, report_refusal
from octavo.http.contract.assembly import contract_of, served_operations_of
from octavo.http.contract.bodies.body_kind import check_closed
from octavo.http.contract.bodies.body_reader import (
    BodyStream,
    ClientLeft,
    Headers,
    body_head,
    declared_size,
    whole_body,
)
from octavo.http.contract.bodies.form import FORM_MEDIA_TYPE, form_body, parse_form
from octavo.http.contract.bodies.json_body import JsonBody, json_body
from octavo.http.contract.bodies.media_type import parse_media_type
from octavo.http.contract.bodies.multipart import MultipartStream, Part, multipart_body
from octavo.http.contract.bodies.part_cutter import PartBounds
from octavo.http.contract.bodies.raw_body import BYTES, raw_body
from octavo.http.contract.call import Authenticator, Call, Principal, client_of
from octavo.http.contract.contract_model import (
    IN_PATH,
    LATEST,
    REMOVED,
    WHOLE,
    ChosenIdentifier,
    GivenBytes,
    GivenTime,
    HeaderModel,
    Identifier,
    Model,
    Removed,
    Timestamp,
    milliseconds_of,
    timestamp,
    written_time,
)
from octavo.http.contract.declared_responses import possible_problems
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
from octavo.http.contract.memory_budget import COUNTED, MemoryBudget
from octavo.http.contract.openapi import Example, openapi_document
from octavo.http.contract.operation import Locked, Security, operation
from octavo.http.contract.paging import (
    IN_DIGITS,
    Limit,
    ListPage,
    PageQuery,
    cursor,
    read_cursor,
    split_page,
)
from octavo.http.contract.parameters import require_no_query
from octavo.http.contract.prepared_response import WEBSOCKET_EVENTS, prepared_problem
from octavo.http.contract.renewed_time import RenewedTime
from octavo.http.contract.reply import (
    EncodedJson,
    HtmlPage,
    NoBytes,
    NotModified,
    Reply,
    Stream,
    encoded_json,
)
from octavo.http.contract.request_context import RequestContext
from octavo.http.contract.request_log import RequestLog, RequestRecord, request_log
from octavo.http.contract.reservation import Reservation, reservation_of
from octavo.http.contract.schemas import Json
from octavo.http.contract.security_headers import PAGE_HEADERS, READING_HEADERS
from octavo.http.contract.slices import converted
