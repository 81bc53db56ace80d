/** Identities of references and of forks, and their data in messages. */
package io.waybill.rref.id;
